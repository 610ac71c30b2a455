"""A plug-in's folder: its files as they go into the lab, and what names them."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tunbench.plain_text import line
from tunbench.runner import registry

KINDS = {"tunnels": "tunnel", "workloads": "workload", "probes": "probe"}
"""The folders of a plug-in, and what each file in them is."""

MODULE = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)

NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)
"""What a plug-in can be called, as a manifest and messages name it."""

PYTHON = ".py"

CACHE = "__pycache__"

LARGEST_BYTES = 1 << 20
"""Of all files of a plug-in together; the shipped runner has half of it."""

MAX_FILES = 200


class PluginError(Exception):
    """A plug-in cannot be used; the message says which and why, and the mend."""


class Plugin(NamedTuple):
    """A folder with tunnels, workloads and probes.

    `files` are its Python files by their path below the folder, which is that below the runner as well. `package` is
    the installed one that brought it, empty where the user named the folder.
    """

    name: str
    folder: Path
    files: tuple[tuple[str, bytes], ...]
    package: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 over the files that go into the lab."""
        whole = hashlib.sha256()
        for path, content in self.files:
            whole.update(f"{path} {len(content)}\n".encode() + content)
        return whole.hexdigest()

    @property
    def names(self) -> dict[str, list[str]]:
        """The names of what it brings, by the folder in which it stands."""
        found: dict[str, list[str]] = {kind: [] for kind in KINDS}
        for path, _ in self.files:
            kind, first, *rest = path.split("/")
            if not rest or rest == ["__init__.py"]:
                found[kind].append(first.removesuffix(PYTHON).replace("_", "-"))
        return found

    def file_of(self, kind: str, name: str) -> Path:
        """The file of one of them."""
        module = name.replace("-", "_")
        alone = self.folder / kind / f"{module}{PYTHON}"
        return alone if alone.exists() else self.folder / kind / module / "__init__.py"


def read(folder: Path, name: str = "", package: str = "") -> Plugin:
    """The plug-in in that folder, called as the folder is. Raises PluginError."""
    if not folder.is_dir():
        what = "this is a file" if folder.exists() else "there is no such folder"
        raise PluginError(f"--plugin {line(str(folder))}: {what}; name the folder that holds {_either()}")
    home = folder.resolve()
    if not NAME.fullmatch(name or home.name):
        raise PluginError(f"{home}: a plug-in's name has letters, digits, dots, _ and -; rename the folder")
    found = Plugin(name or home.name, home, tuple(_files(home)), package)
    if not any(found.names.values()):
        beside = next((path.name for path in sorted(home.glob(f"*{PYTHON}"))), f"NAME{PYTHON}")
        raise PluginError(f"{home}: no tunnel, workload or probe lies in it; put {beside} into {_either()} there")
    return found


def _either() -> str:
    *some, last = (f"{kind}/" for kind in KINDS)
    return f"{', '.join(some)} or {last}"


def _files(home: Path) -> Iterator[tuple[str, bytes]]:
    """The files that go into the lab, in an order that does not depend on the disk. Raises PluginError."""
    count = size = 0
    for path in sorted(_paths(home)):
        try:
            content = path.read_bytes()
        except OSError as error:
            raise PluginError(f"{path}: cannot be read: {error.strerror}; make it readable") from None
        count, size = count + 1, size + len(content)
        if count > MAX_FILES or size > LARGEST_BYTES:
            raise PluginError(
                f"{home}: a plug-in has at most {MAX_FILES} files and {LARGEST_BYTES >> 20} MiB; name the folder that "
                f"holds {_either()} alone"
            )
        yield path.relative_to(home).as_posix(), content


def _paths(home: Path) -> Iterator[Path]:
    for kind in KINDS:
        _check_entry(home / kind)
        if not (home / kind).exists():
            continue
        for above, folders, names in os.walk(home / kind, onerror=_unreadable):
            folders[:] = sorted(name for name in folders if name != CACHE)
            for name in (*folders, *names):
                _check_entry(Path(above) / name)
            yield from (_named(path, kind) for path in map(Path(above).joinpath, names) if _goes_along(path, kind))


def _goes_along(path: Path, kind: str) -> bool:
    """Whether a file goes into the lab; what makes a Python package of `tunnels/` itself has its like there."""
    return path.name.endswith(PYTHON) and not (path.parent.name == kind and path.stem == "__init__")


def _unreadable(error: OSError) -> None:
    raise PluginError(f"{error.filename}: cannot be read: {error.strerror}; make it readable")


def _check_entry(path: Path) -> None:
    """Raises PluginError where it is no file and no folder: what it leads to would not go into the lab."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return
    if stat.S_ISLNK(mode):
        raise PluginError(f"{path}: a symbolic link does not go into the lab; put what it leads to in its place")
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise PluginError(f"{path}: it is neither a file nor a folder; take it away")


def _named(path: Path, kind: str) -> Path:
    """The path, whose name can be that of a module. Raises PluginError."""
    stem = path.name.removesuffix(PYTHON)
    if stem != "__init__" and not MODULE.fullmatch(stem):
        wanted = re.sub(r"[^a-z0-9]+", "_", stem.lower()).strip("_") or "name"
        raise PluginError(
            f"{path}: a file is called as its {KINDS[kind]} is, with small letters, digits and _ for each hyphen; "
            f"call it {wanted}{PYTHON}"
        )
    if registry.SHARED in (stem, path.parent.name) and kind in (path.parent.name, path.parents[1].name):
        raise PluginError(
            f"{path}: {registry.SHARED} is a name of Tunbench's own; put what several files share into a folder of "
            "one of them"
        )
    return path
