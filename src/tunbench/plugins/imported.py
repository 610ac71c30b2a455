"""Imports a plug-in's files from the bytes that were read of them: what executes here is what its digest is of.

Python's own finder would take what was compiled into `__pycache__`, or a library beside a file, before that file.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.abc import PathEntryFinder, SourceLoader
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from tunbench.plugins.folder import INIT, PYTHON, Plugin


class _Source(NamedTuple):
    """A file of a plug-in, and what was read of it."""

    file: Path
    content: bytes


_FOLDERS: dict[str, dict[str, _Source]] = {}
"""The modules that lie in each folder of the plug-ins that are given, by their names."""


class _Loader(SourceLoader):
    """Compiles what was read. As it tells no file's time, Python neither reads nor writes what is compiled."""

    def __init__(self, source: _Source) -> None:
        self._source = source

    def get_filename(self, fullname: str) -> str:
        """Where it was read."""
        return str(self._source.file)

    def get_data(self, path: str | bytes) -> bytes:
        """What was read."""
        return self._source.content


class _Finder(PathEntryFinder):
    """Finds the modules of one folder."""

    def __init__(self, modules: Mapping[str, _Source]) -> None:
        self._modules = modules

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module of that name; None where the folder has none."""
        found = self._modules.get(fullname.rpartition(".")[2])
        return spec_from_file_location(fullname, found.file, loader=_Loader(found)) if found else None

    def iter_modules(self, prefix: str = "") -> Iterator[tuple[str, bool]]:
        """As `pkgutil.iter_modules` asks for them: each name, and whether it is a package."""
        return ((prefix + name, found.file.name == INIT) for name, found in self._modules.items())


def give(plugins: Iterable[Plugin]) -> None:
    """Lets Python find the files of these plug-ins, where a package's path names their folders, and of no others."""
    _forget()
    _FOLDERS.clear()
    for plugin in plugins:
        for path, content in plugin.files:
            file = plugin.folder / path
            module = file.parent if file.name == INIT else file
            modules = _FOLDERS.setdefault(str(module.parent), {})
            modules[module.name.removesuffix(PYTHON)] = _Source(file, content)
    _forget()


def _forget() -> None:
    """Python keeps the finder that it once found for a folder."""
    for folder in _FOLDERS:
        sys.path_importer_cache.pop(folder, None)


def _finder(folder: str) -> _Finder:
    if folder not in _FOLDERS:
        raise ImportError
    return _Finder(_FOLDERS[folder])


sys.path_hooks.insert(0, _finder)
