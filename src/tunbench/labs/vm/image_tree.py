"""What is left out of an image's files, and the order and times that they get: the same packages give the same bytes.

Keys, certificates, logs, caches and what names the machine were made while the packages were installed, and would make
every image another one. No tunnel and no workload uses them: what a node needs of such a kind, it makes in the lab,
where it follows from the seed of the shard.
"""

import fnmatch
import io
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO

COMPILING = (
    'find "$1/usr" -depth -type d -name __pycache__ -exec rm -r {} + ; '
    'chroot "$1" sh -c \'PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 exec '
    "python3 -m compileall -q --invalidation-mode unchecked-hash /usr/lib/python3.*'"
)
"""Compiles Python's library once more, in a fixed order with fixed hashes, for a shell that is given the root. What
Debian's own scripts compile depends on random hashes, and on which programs were started by then. What the compiler
imports itself it would write first, to be compared with a source whose time is another one later."""

LEFT_OUT = (
    *("dev/*", "etc/machine-id", "var/lib/dbus/machine-id"),
    *("etc/ssh/ssh_host_*", "etc/ssl/certs/ssl-cert-snakeoil.pem", "etc/ssl/private/ssl-cert-snakeoil.key"),
    # What mmdebstrap and apt leave of where the packages came from.
    *("etc/apt/sources.list", "etc/apt/sources.list.d/*"),
)
"""Patterns of what is left out."""

EMPTIED = ("run", "tmp", "var/backups", "var/cache", "var/lib/apt", "var/log")
"""Folders of which folders alone are kept: some daemons want theirs."""

REPLACED: Mapping[str, bytes] = MappingProxyType({"etc/hostname": b"lab\n", "etc/resolv.conf": b""})
"""What mmdebstrap takes from the machine that builds, and what stands there instead."""


def tidied(tree: Path, out: Path, moment: int) -> None:
    """Writes an archive anew: sorted, all of it of one moment, without what is left out."""
    with tarfile.open(tree) as tar, tarfile.open(out, "w", format=tarfile.PAX_FORMAT) as tidy:
        for member in sorted(_kept(tar), key=lambda one: one.name):
            tidy.addfile(_plain(member, moment), _content(tar, member))


def _kept(tar: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    members = {name_of(member): member for member in tar}
    gone = {name for name, member in members.items() if _is_left_out(name, member.isdir())}
    for name, member in members.items():
        # A certificate has a second name by its hash.
        target = str(Path(name).parent / member.linkname)
        if name not in gone and not (member.issym() and target in gone):
            yield member


def _is_left_out(name: str, folder: bool) -> bool:
    if any(fnmatch.fnmatchcase(name, pattern) for pattern in LEFT_OUT):
        return True
    return not folder and any(name.startswith(f"{above}/") for above in EMPTIED)


def _plain(member: tarfile.TarInfo, moment: int) -> tarfile.TarInfo:
    """The same member, less what the machine and the way of building say of it."""
    member.mtime = moment
    member.uname = member.gname = ""
    member.pax_headers = {key: value for key, value in member.pax_headers.items() if key.startswith("SCHILY.xattr.")}
    if name_of(member) in REPLACED:
        member.mode, member.size = 0o644, len(REPLACED[name_of(member)])
    return member


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes] | None:
    if name_of(member) in REPLACED:
        return io.BytesIO(REPLACED[name_of(member)])
    return tar.extractfile(member) if member.isfile() else None


def name_of(member: tarfile.TarInfo) -> str:
    """The path of a member below the root of its archive."""
    return member.name.removeprefix("./")
