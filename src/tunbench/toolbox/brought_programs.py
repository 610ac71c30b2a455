"""Programs that the user brings: their files are named, and each becomes an image, named by its digest.

They are those that no registry carries, and the user's own build of any other that a tunnel runs.
"""

import errno
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tunbench.journal import files
from tunbench.labs import image
from tunbench.labs.extras import ExtraKind
from tunbench.labs.replaced_folder import replacing
from tunbench.plain_text import line
from tunbench.plan.toml import bounded_toml
from tunbench.runner import registry
from tunbench.runner.catalogue import variants
from tunbench.runner.declare.options import nearest
from tunbench.toolbox.command import ToolError
from tunbench.toolbox.pack import FIRST, PROGRAMS, pack
from tunbench.toolbox.tools import tools_folder

VERSION_TIMEOUT = 5.0
"""Seconds of wall clock in which a program must say its version."""

LARGEST_PROGRAM = 1 << 30
"""Bytes of a program; the largest that was seen has some 60 million."""

LARGEST_CONFIGURATION = 256 << 10
"""Bytes of the user's configuration."""

OF_THE_LAB = {"ethtool", "ip", "modprobe", "nft", "openssl", "pgrep", "python3", "sh"}
"""Programs that tunnels run as all else in the lab does: they stay Debian's."""

ANOTHER_FOLDER = "name another folder with XDG_CONFIG_HOME"
"""What helps where the configuration itself cannot be mended."""

VERSION = re.compile(r"\d+\.\d+[\w.+-]*")


class BroughtProgram(NamedTuple):
    """A program and its SHA-256."""

    name: str
    file: Path
    sha256: str
    kind: ExtraKind = "brought"

    @property
    def folder(self) -> Path:
        """Where its image lies in the cache."""
        return tools_folder() / "brought" / f"{self.name}-{self.sha256[:12]}"

    @property
    def build(self) -> str:
        """The command that makes its image."""
        return f"tunbench run PLAN --tool {self.name}={self.file}"

    @property
    def rebuild(self) -> str:
        """The same: what is damaged is made anew."""
        return self.build


def parsed(given: Iterable[str]) -> dict[str, str]:
    """The files that were given as NAME=FILE, by the name of the program. Raises ToolError."""
    named = {}
    for text in given:
        name, equals, file = text.partition("=")
        if not (name and equals and file):
            raise ToolError(f"--tool {text}: write it as NAME=FILE, such as zerotier-one=/usr/sbin/zerotier-one")
        named[name] = _known(name, file, "--tool")
    return named


def configured() -> dict[str, str]:
    """The files that the user's configuration names. Raises ToolError."""
    path = config_file()
    try:
        data = bounded_toml.parsed(files.text(_target(path), LARGEST_CONFIGURATION), str(path))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ToolError(f"{path}: cannot be read: {error.strerror}; mend it, or {ANOTHER_FOLDER}") from None
    except bounded_toml.TomlError as error:
        raise ToolError(str(error)) from None
    if unknown := sorted(data.keys() - {"tools"}):
        raise ToolError(f'{path}: unknown key "{line(unknown[0])}": there is one table, [tools]')
    tools = data.get("tools", {})
    if not isinstance(tools, dict) or not all(isinstance(file, str) for file in tools.values()):
        raise ToolError(
            f'{path}: tools: write one line for each program, such as zerotier-one = "/usr/sbin/zerotier-one"'
        )
    return {name: _known(name, _beside(path, file), str(path)) for name, file in tools.items()}


def config_file() -> Path:
    """The user's configuration, in the XDG configuration directory."""
    root = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(root) / "tunbench" / "config.toml"


def _beside(path: Path, file: str) -> str:
    """A file that the configuration names: beside it, at a user's home, or anywhere. Raises ToolError."""
    try:
        return str(path.parent / Path(file).expanduser())
    except RuntimeError:
        raise ToolError(f"{path}: {file}: there is no such user") from None


def _target(path: Path) -> Path:
    """What a path leads to over links. Raises OSError, also where it leads nowhere, and ValueError of no path."""
    return Path(os.path.realpath(path, strict=True))


def how_to_bring(name: str) -> str:
    """The ways in which a user brings a program, as a mend."""
    ways = f"put it on PATH, name its file in config.toml, or bring it with: {bring(name)}"
    return f"{ways} (docs/toolbox.md#bring-a-program)"


def bring(name: str) -> str:
    """The command that brings a program for one run."""
    return f"tunbench run … --tool {name}=FILE"


def declared_programs() -> set[str]:
    """The names of the programs that some tunnel wants brought."""
    return {program for name in registry.tunnel_names() for program in registry.tunnel(name).about.needs.brought}


def replaceable_programs() -> set[str]:
    """The names of the programs of Debian or the toolbox that some tunnel runs: the user's own file may replace them.

    Not those that the lab itself, or all tunnels, run.
    """
    abouts = (about for name in registry.tunnel_names() for about in variants(name).values())
    return {program for about in abouts for program in about.needs.programs} - OF_THE_LAB


def _known(name: str, file: str, where: str) -> str:
    if name not in declared_programs():
        known = declared_programs() | replaceable_programs()
        if name not in known:
            raise ToolError(f'{where}: no tunnel asks for a program "{line(name)}"{nearest(name, sorted(known))}')
    return str(Path(file).absolute())


def files_at_hand(names: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """The file of each program that is at hand: one that was given, else a configured one, else one on PATH."""
    names = sorted(names)
    named = {**configured(), **given} if names else {}
    every = {name: named.get(name) or shutil.which(name) for name in names}
    return {name: file for name, file in every.items() if file}


def packed_program(name: str, file: str) -> BroughtProgram:
    """The program of that file, with its image in the cache. Raises ToolError and ImageError."""
    one = _of(name, file)
    try:
        image.check(one)
    except image.ImageError:
        _pack(one)
    return one


def check_known(name: str, file: str) -> None:
    """Raises ToolError where the program of that file was never brought on this machine.

    A run's folder may come from someone else, and a program is started on this machine as it is packed.
    """
    one = _of(name, _known(name, file, "the run's folder"))
    try:
        image.check(one)
    except image.ImageError:
        raise ToolError(
            f"{name}: {file} was never brought on this machine, and no program is started because a run's folder names "
            f"it; begin a new run with it: {one.build}"
        ) from None


def check_usable(name: str, file: str) -> None:
    """Raises ToolError where the program of that file cannot be brought. Its bytes are not read."""
    with _refusing(name, file):
        path = _target(Path(file))
        with files.opened(path) as program:
            size = os.fstat(program.fileno()).st_size
        if size > LARGEST_PROGRAM:
            raise OSError(errno.EFBIG, f"it is larger than {LARGEST_PROGRAM >> 20} MiB")
        if not size:
            # So says the kernel of what it makes up as it is read, which may have no end.
            raise OSError(errno.ENODATA, "it is empty")
    if not os.access(path, os.X_OK):
        raise ToolError(f"{name}: {file} is not executable; make it so with: chmod +x {file}")


def _of(name: str, file: str) -> BroughtProgram:
    """The program of that file. Raises ToolError."""
    check_usable(name, file)
    with _refusing(name, file):
        path = _target(Path(file))
        with files.opened(path) as program:
            return BroughtProgram(name, path, hashlib.file_digest(program, "sha256").hexdigest())


@contextmanager
def _refusing(name: str, file: str) -> Iterator[None]:
    """Tells of a file that cannot be read, and of the configuration where that names it. Raises ToolError."""
    try:
        yield
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        mend = f"; mend it in {config_file()}, which names it" if _names(name, file) else ""
        raise ToolError(f"{name}: {file} cannot be read: {reason}{mend}") from None


def _names(name: str, file: str) -> bool:
    """Whether the configuration names this file for a program."""
    try:
        return configured().get(name) == file
    except ToolError:
        return False


def _pack(one: BroughtProgram) -> None:
    with replacing(one.folder) as scratch:
        program = scratch / one.name
        shutil.copyfile(one.file, program)
        program.chmod(0o755)
        head = {"name": one.name, "version": version(program), "sha256": one.sha256}
        pack([program], scratch / "image", head, PROGRAMS if one.name in declared_programs() else FIRST)


def version(program: Path) -> str:
    """What a program says of its version when asked with --version; `unknown` where it says nothing in time."""
    with tempfile.TemporaryDirectory() as home:
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": home}
        try:
            done = subprocess.run(
                [program, "--version"],
                cwd=home,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=VERSION_TIMEOUT,
            )
        except (OSError, subprocess.TimeoutExpired):
            return "unknown"
    said = VERSION.search(f"{done.stdout}\n{done.stderr}")
    return said[0] if said else "unknown"
