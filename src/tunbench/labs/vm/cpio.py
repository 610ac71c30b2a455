"""Canonical cpio archives (newc): the same files give the same bytes, whoever made them, when and where."""

from collections.abc import Mapping

ALIGNMENT = 4
DIRECTORY, FILE, EXECUTABLE = 0o040755, 0o100644, 0o100755


def archive(files: Mapping[str, tuple[int, bytes]]) -> bytes:
    """An archive of files given as path: (mode, content), with the folders they need; times, owners and devices are 0.

    Format: Linux' Documentation/driver-api/early-userspace/buffer-format.rst.
    """
    entries = {folder: (DIRECTORY, b"") for path in files for folder in _parents(path)} | dict(files)
    members = [_member(number, path, *entries[path]) for number, path in enumerate(sorted(entries), start=1)]
    return b"".join(members) + _member(0, "TRAILER!!!", 0, b"")


def padded(data: bytes, size: int) -> bytes:
    """The archive, with zeros to the next multiple of `size` bytes, which the kernel skips."""
    return data + bytes(-len(data) % size)


def _parents(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]


def _member(number: int, path: str, mode: int, content: bytes) -> bytes:
    name = path.encode() + b"\0"
    links = 2 if mode == DIRECTORY else 1
    fields = (number, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(name), 0)
    header = b"070701" + b"".join(b"%08x" % field for field in fields) + name
    return padded(header, ALIGNMENT) + padded(content, ALIGNMENT)
