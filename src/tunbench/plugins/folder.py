"""A plug-in's folder: its files as they go into the lab, and what names them."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tunbench.plain_text import line
from tunbench.runner.mistaken_file import SHARED

KINDS = {"tunnels": "tunnel", "workloads": "workload", "probes": "probe"}
"""The folders of a plug-in, and what each file in them is."""

MODULE = re.compile(r"[a-z][a-z0-9_]*", re.ASCII)

NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)
"""What a plug-in can be called, as a manifest and messages name it."""

PYTHON = ".py"

INIT = "__init__.py"

COMPILED = (".pyc", ".so")
"""What Python would import in the place of a file."""

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
            if not rest or rest == [INIT]:
                found[kind].append(first.removesuffix(PYTHON).replace("_", "-"))
        return found

    def file_of(self, kind: str, name: str) -> Path:
        """The file of one of them."""
        module = name.replace("-", "_")
        alone = self.folder / kind / f"{module}{PYTHON}"
        return alone if alone.exists() else self.folder / kind / module / INIT


def read(folder: Path, name: str = "", package: str = "") -> Plugin:
    """The plug-in in that folder, called as the folder is. Raises PluginError."""
    home = _home(folder)
    if not NAME.fullmatch(name or home.name):
        raise PluginError(f"{home}: a plug-in's name has letters, digits, dots, _ and -; rename the folder")
    found = Plugin(name or home.name, home, tuple(_files(home)), package)
    if not any(found.names.values()):
        beside = next((path.name for path in sorted(home.glob(f"*{PYTHON}"))), f"NAME{PYTHON}")
        raise PluginError(f"{home}: no tunnel, workload or probe lies in it; put {beside} into {_either()} there")
    return found


def _home(folder: Path) -> Path:
    """Where the folder really is. Raises PluginError."""
    try:
        if folder.is_dir():
            return folder.resolve()
        what = "this is a file" if folder.exists() else "there is no such folder"
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
    raise PluginError(f"--plugin {line(str(folder))}: {what}; name the folder that holds {_either()}")


def _either() -> str:
    *some, last = (f"{kind}/" for kind in KINDS)
    return f"{', '.join(some)} or {last}"


def _files(home: Path) -> Iterator[tuple[str, bytes]]:
    """The files that go into the lab, in an order that does not depend on the disk. Raises PluginError."""
    paths = sorted(_paths(home))
    size = 0
    for path in paths:
        try:
            with path.open("rb") as file:
                content = file.read(LARGEST_BYTES + 1 - size)
        except OSError as error:
            raise _unreadable(error) from None
        size += len(content)
        if len(paths) > MAX_FILES or size > LARGEST_BYTES:
            raise PluginError(
                f"{home}: a plug-in has at most {MAX_FILES} files and {LARGEST_BYTES >> 20} MiB; name the folder that "
                f"holds {_either()} alone"
            )
        yield path.relative_to(home).as_posix(), content
    _check_packages(home, paths)


def _paths(home: Path) -> Iterator[Path]:
    for kind in KINDS:
        top = home / kind
        if not _is_there(top):
            continue
        for above, folders, names in os.walk(top, onerror=_raise_unreadable):
            folders[:] = sorted(name for name in folders if name != CACHE)
            for name in (*folders, *names):
                _is_there(Path(above) / name)
            yield from (_named(path, top) for path in map(Path(above).joinpath, names) if _goes_along(path, top))


def _goes_along(path: Path, top: Path) -> bool:
    """Whether a file goes into the lab; what makes a Python package of `tunnels/` itself has its like there."""
    if path.name.endswith(COMPILED):
        raise PluginError(f"{path}: what is compiled does not go into the lab; put its source there, or take it away")
    return path.name.endswith(PYTHON) and path != top / INIT


def _check_packages(home: Path, paths: Sequence[Path]) -> None:
    """Raises PluginError where files of a folder could lie among those of another, or are hidden by it."""
    for path in paths:
        for folder in path.relative_to(home).parents[:-2]:
            if home / folder / INIT not in paths:
                raise PluginError(f"{home / folder}: no {INIT} lies in it, so that it is no package; put one there")
            if (alone := home / f"{folder}{PYTHON}") in paths:
                raise PluginError(f"{alone}: Python takes the folder of that name beside it; take one of them away")


def _unreadable(error: OSError) -> PluginError:
    return PluginError(f"{error.filename}: cannot be read: {error.strerror}; make it readable")


def _raise_unreadable(error: OSError) -> None:
    raise _unreadable(error)


def _is_there(path: Path) -> bool:
    """Whether there is a file or folder. Raises PluginError for what is neither, and would not go into the lab."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return False
    except OSError as error:
        raise _unreadable(error) from None
    if stat.S_ISLNK(mode):
        raise PluginError(f"{path}: a symbolic link does not go into the lab; put what it leads to in its place")
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise PluginError(f"{path}: it is neither a file nor a folder; take it away")
    return True


def _named(path: Path, top: Path) -> Path:
    """The path below that of its kind, where its name can be that of a module. Raises PluginError."""
    package = path.name == INIT
    stem = path.parent.name if package else path.stem
    if not MODULE.fullmatch(stem):
        wanted = re.sub(r"[^a-z0-9]+", "_", stem.lower()).strip("_") or "name"
        raise PluginError(
            f"{path.parent if package else path}: a {'folder' if package else 'file'} is called as its "
            f"{KINDS[top.name]} is, with small letters, digits and _ for each hyphen; call it "
            f"{wanted}{'' if package else PYTHON}"
        )
    if path.relative_to(top).parts[0].removesuffix(PYTHON) == SHARED:
        raise PluginError(
            f"{path}: {SHARED} is a name of Tunbench's own; put what several files share into a folder of one of them"
        )
    return path
