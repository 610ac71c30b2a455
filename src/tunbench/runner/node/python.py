"""Programs of the runner's own that are executed on a node, such as one that sends echo requests."""

from pathlib import Path
from types import ModuleType


def source(module: ModuleType) -> str:
    """The text of a program: a node may not see its file."""
    return Path(str(module.__file__)).read_text()
