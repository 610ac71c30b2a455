"""The archive of a run: a tar file of a few known members under bzip2, the same bytes for the same content.

bzip2, because its output is not known to have changed since 2000; that of zlib does with its version. It may come
from anybody: what is no such archive is refused, and nothing but the members that are known is ever written.
"""

import bz2
import os
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from tunbench.journal import files, journal
from tunbench.journal.read import MANIFEST
from tunbench.plain_text import line
from tunbench.run.order import RunError

DIGESTS, PLAN = "digests", "plan.toml"

MEMBERS = (DIGESTS, PLAN, MANIFEST, journal.NAME)
"""What an archive holds, in its order: the digests, and the files that they are of."""

MEND = "ask for the run as its author packed it, with: tunbench pack RUN FILE"

MAX_UNPACKED_BYTES = 1 << 30
"""Of all members together; the journal of a million samples has some hundred million."""

BLOCK = tarfile.BLOCKSIZE

KINDS = {
    tarfile.SYMTYPE: "a link",
    tarfile.LNKTYPE: "a link",
    tarfile.CHRTYPE: "a device",
    tarfile.BLKTYPE: "a device",
    tarfile.FIFOTYPE: "a pipe",
    tarfile.DIRTYPE: "a folder",
}
"""What a member may be that is no file."""


class Member(NamedTuple):
    """A file of an archive: its name, its bytes, which are read from the start, and how many there are."""

    name: str
    content: IO[bytes]
    size: int


def write(file: Path, members: Iterable[Member]) -> None:
    """Writes an archive, which takes the place of what stands there. Raises OSError."""
    new = file.with_name(f".{file.name}.new")
    new.unlink(missing_ok=True)
    try:
        with new.open("xb") as raw, bz2.open(raw, "wb", compresslevel=9) as stream:
            for member in members:
                stream.write(_header(member))
                member.content.seek(0)
                while piece := member.content.read(1 << 20):
                    stream.write(piece)
                stream.write(bytes(-member.size % BLOCK))
            stream.write(bytes(2 * BLOCK))
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)


def _header(member: Member) -> bytes:
    """The header of a file that belongs to nobody and was written at the beginning of time."""
    info = tarfile.TarInfo(member.name)
    info.size = member.size
    return info.tobuf(tarfile.USTAR_FORMAT)


def unpack(archive: Path, folder: Path) -> None:
    """Puts the members of an archive into a folder, which is empty. Raises RunError where it is none that we wrote."""
    try:
        # The link that its user names may be followed; those within it are not.
        with files.opened(Path(os.path.realpath(archive))) as raw:
            for name, pieces in _Reader(archive, _Stream(raw)).members():
                _write(folder / name, pieces)
    except OSError as error:
        raise RunError(f"{archive} cannot be read: {error.strerror or error}; name a run's folder or archive") from None
    if missing := [name for name in MEMBERS if not (folder / name).exists()]:
        raise RunError(f"{archive} has no {missing[0]}; {MEND}")


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    try:
        with path.open("xb") as file:
            file.writelines(pieces)
    except OSError as error:
        raise RunError(
            f"cannot unpack to {path.parent}: {error.strerror}; make room, or name another folder with the variable "
            "TMPDIR"
        ) from None


class _Stream:
    """Reads what was compressed to one stream, and not what a file has behind that."""

    def __init__(self, packed: IO[bytes]) -> None:
        self.packed = packed
        self.decompressor = bz2.BZ2Decompressor()

    def read(self, size: int) -> bytes:
        """So many bytes, or what there is up to the end. Raises EOFError where the file is cut off, and OSError."""
        found = bytearray()
        while len(found) < size and not self.decompressor.eof:
            piece = self.packed.read(1 << 16) if self.decompressor.needs_input else b""
            if self.decompressor.needs_input and not piece:
                raise EOFError
            found += self.decompressor.decompress(piece, size - len(found))
        return bytes(found)

    def followed(self) -> bool:
        """Whether the file has anything behind the end of the stream."""
        return bool(self.decompressor.unused_data or self.packed.read(1))


class _Reader:
    """Reads the members of an archive one after the other. All that is refused raises RunError."""

    def __init__(self, archive: Path, stream: _Stream) -> None:
        self.archive = archive
        self.stream = stream
        self.left = MAX_UNPACKED_BYTES
        self.waiting = list(MEMBERS)

    def members(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Each member and its pieces, which must be read before the next one."""
        while header := self._header():
            yield header.name, self._pieces(header.size)
        # tar(1) fills an archive up to a whole record.
        rest = self._read(tarfile.RECORDSIZE + 1)
        if any(rest) or len(rest) > tarfile.RECORDSIZE or self.stream.followed():
            raise self._refusal("something follows its end")

    def _header(self) -> tarfile.TarInfo | None:
        """The header of the next member; None at the end."""
        block = self._read(BLOCK)
        if block == bytes(BLOCK):
            return None
        try:
            header = tarfile.TarInfo.frombuf(block, "ascii", "strict")
        except (tarfile.HeaderError, UnicodeDecodeError):
            raise self._refusal("it is no tar file") from None
        self._check(header)
        self.waiting.remove(header.name)
        self.left -= header.size
        return header

    def _check(self, header: tarfile.TarInfo) -> None:
        shown = line(header.name, 100)
        path = PurePosixPath(header.name)
        if path.is_absolute() or ".." in path.parts:
            raise self._refusal(f"{shown} leads out of its folder")
        if header.type in KINDS:
            raise self._refusal(f"{shown} is {KINDS[header.type]}, and no file")
        if header.type != tarfile.REGTYPE or header.name not in MEMBERS:
            raise self._refusal(f"{shown} is nothing that a run has")
        if header.name not in self.waiting:
            raise self._refusal(f"{shown} is there twice")
        if not 0 <= header.size <= self.left:
            raise self._refusal(f"it has more than {MAX_UNPACKED_BYTES >> 30} GiB")

    def _pieces(self, size: int) -> Iterator[bytes]:
        for start in range(0, size, 1 << 20):
            yield self._exactly(min(1 << 20, size - start))
        self._exactly(-size % BLOCK)

    def _exactly(self, size: int) -> bytes:
        found = self._read(size)
        if len(found) < size:
            raise self._refusal("it is cut off")
        return found

    def _read(self, size: int) -> bytes:
        try:
            return self.stream.read(size)
        except EOFError:
            raise self._refusal("it is cut off") from None
        except OSError as error:
            # What the disk says has a number, and what bzip2 says has none.
            raise self._refusal("it is not compressed by bzip2") if error.errno is None else error from None

    def _refusal(self, why: str) -> RunError:
        return RunError(f"{self.archive} is no packed run: {why}; {MEND}")
