"""The libraries that a program is linked with, and whether the base image can serve it."""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tunbench.labs import image
from tunbench.labs.vm.image_definition import BASE
from tunbench.toolbox.command import ToolError

IN_EVERY_DEBIAN = (
    *("ld-linux-x86-64", "libc", "libdl", "libgcc_s", "libm", "libpthread", "libresolv", "librt", "libutil"),
)
"""The libraries of libc6 and libgcc-s1, which every Debian has."""

GLIBC = (2, 36)
"""The version of glibc in Debian 12 (package libc6 2.36)."""

ELF = b"\x7fELF"
X86_64 = 62
"""EM_X86_64 (System V ABI, AMD64 supplement, section 4.1), at byte 18 of an ELF header."""


def missing_in_base(programs: Iterable[Path]) -> list[Path]:
    """The libraries of this machine that the programs need and that the base image lacks.

    Raises ToolError where a program cannot run there, and ImageError where the base image would have to be looked at
    and is not built.
    """
    needed: dict[str, Path] = {}
    for program in programs:
        libraries = linked(program)
        _check(program, bool(libraries))
        needed |= {name: path for name, path in libraries.items() if name.split(".so")[0] not in IN_EVERY_DEBIAN}
    there = in_base() if needed else set()
    lacking = [path for name, path in sorted(needed.items()) if name not in there]
    for library in lacking:
        _check(library, True)
    return lacking


def linked(program: Path) -> dict[str, Path]:
    """The libraries that ldd names, by the name by which they are looked for. Raises ToolError where one is missing."""
    # It fails where the program is linked statically, and then it needs none.
    printed = subprocess.run(["ldd", str(program)], capture_output=True, text=True).stdout
    if missing := re.findall(r"^\s*(\S+) => not found$", printed, re.MULTILINE):
        raise ToolError(f"{program.name} needs {', '.join(missing)}, which this machine does not have")
    return {name: Path(path) for name, path in re.findall(r"^\s*(\S+) => (/\S+) \(", printed, re.MULTILINE)}


def in_base() -> set[str]:
    """The names of all libraries in the base image. Raises ImageError where it is not built."""
    image.check(BASE)
    argv = ["rdsquashfs", "--describe", str(BASE.folder / "image.squashfs")]
    listed = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^(?:file|slink) \S*/([^/\s]+\.so(?:\.[^/\s]+)?) ", listed, re.MULTILINE))


def _check(program: Path, dynamic: bool) -> None:
    """Raises ToolError where Debian 12 on amd64 cannot run it."""
    content = program.read_bytes()
    if not content.startswith(ELF):
        return
    if int.from_bytes(content[18:20], "little") != X86_64:
        raise ToolError(f"{program} is not for x86-64, which the lab is")
    asked = {(int(major), int(minor)) for major, minor in re.findall(rb"GLIBC_(\d+)\.(\d+)\b", content)}
    if dynamic and asked and max(asked) > GLIBC:
        found, there = (".".join(map(str, version)) for version in (max(asked), GLIBC))
        raise ToolError(
            f"{program} needs glibc {found}, and the lab has {there}: build it on Debian 12, or link it statically"
        )
