"""Whether a template is what its maker left: the files' owner, mode and digests."""

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

SEAL = "seal.json"

PIECE_BYTES = 64 << 10

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH

_known: dict[Path, tuple[object, ...]] = {}
"""Templates that this process has found whole, and what their files looked like."""


def close(folder: Path) -> None:
    """Seals a template: digests of its files, which nobody but their owner may touch."""
    digests = {path.name: digest(path) for path in sorted(folder.iterdir())}
    (folder / SEAL).write_text(text(digests))
    for path in folder.iterdir():
        path.chmod(0o600)


def text(digests: Mapping[str, str]) -> str:
    """What the seal says of files with these digests."""
    return json.dumps({"files": dict(digests)}, sort_keys=True) + "\n"


def whole(folder: Path) -> bool:
    """Whether a template is there, is this user's alone, and has the files that it was sealed with."""
    try:
        if foreign(folder) or any(foreign(path) for path in folder.iterdir()):
            return False
        looks = _looks(folder)
        if _known.get(folder) != looks:
            files = json.loads((folder / SEAL).read_text())["files"]
            if {*files, SEAL} != {path.name for path in folder.iterdir()}:
                return False
            if any(digest(folder / name) != expected for name, expected in files.items()):
                return False
            _known[folder] = looks
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return True


def foreign(path: Path) -> str:
    """Why a file or folder is not this user's alone; empty where it is."""
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        return "is a link"
    if found.st_uid != os.geteuid():
        return f"belongs to user {found.st_uid}"
    if found.st_mode & WRITABLE_BY_OTHERS:
        return "can be written to by others"
    return ""


def digest(path: Path) -> str:
    """SHA-256 over the pieces that are not empty, each with its place: holes and zeros of a file are the same."""
    whole, place, empty = hashlib.sha256(), 0, bytes(PIECE_BYTES)
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        while (place := _next_data(file, place, size)) < size:
            place -= place % PIECE_BYTES
            file.seek(place)
            piece = file.read(PIECE_BYTES)
            if piece != empty[: len(piece)]:
                whole.update(b"%d " % place + piece)
            place += PIECE_BYTES
    whole.update(b"%d" % size)
    return whole.hexdigest()


def _next_data(file: BinaryIO, place: int, size: int) -> int:
    """Where something begins behind a hole of a file, as far as the file system knows."""
    try:
        return os.lseek(file.fileno(), place, os.SEEK_DATA)
    except OSError:
        # ENXIO: nothing but a hole is left.
        return size


def _looks(folder: Path) -> tuple[object, ...]:
    """What changes when somebody writes to a file, or puts another one in its place."""
    found = [(path.name, path.stat()) for path in sorted(folder.iterdir())]
    return tuple((name, one.st_ino, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for name, one in found)
