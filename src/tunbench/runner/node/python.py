"""Programs of the runner's own that are executed on a node, such as one that sends echo requests."""

import sys
from pathlib import Path
from types import ModuleType

INTERPRETER = (str(Path(sys.executable).resolve()), "-I", "-S")
"""The words that start Python on a node, which may not see the environment of this interpreter."""


def source(module: ModuleType) -> str:
    """The text of a program: a node may not see its file."""
    return Path(str(module.__file__)).read_text()
