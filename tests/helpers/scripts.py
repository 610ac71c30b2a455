"""The programs of the folder scripts, which have no suffix, as modules."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

SCRIPTS = Path(__file__).parents[2] / "scripts"


def script(name: str) -> ModuleType:
    """The module of a program, which is not executed as one."""
    loader = SourceFileLoader(name, str(SCRIPTS / name))
    spec = spec_from_loader(name, loader)
    assert spec
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module
