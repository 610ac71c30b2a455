"""The journal: an append-only file of JSON lines, which one process at a time may write."""

import errno
import fcntl
import json
import os
import shlex
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any, BinaryIO

from tunbench import plain_text
from tunbench.journal import bounds, files, validation
from tunbench.journal.checks import InvalidEvent
from tunbench.journal.consistency import Consistency

NAME = "journal.jsonl"

VERSION = 3
"""Of what events hold: it grows where an older version could not be read any more."""

PACKED = ".tar.bz2"
"""How the name of a packed run ends."""

MEND = "take the folder once more from where it was measured, or name another run"

KEEP_WHAT_IS_ABOVE = "What stands above that line is whole: cut the file there to keep it"

TAIL = 1 << 20
"""Bytes in which the last line is looked for, again and again."""

MARKS = (b",", b"[", b"{")
"""Signs in front of a value."""


class JournalError(Exception):
    """A journal cannot be used; the message says why, and the mend."""


class Journal:
    """Appends events. What was appended with `sync` is on the disk when the call returns."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        # Unbuffered: a line that the disk did not take must not come back when the file is closed.
        self.file = files.appended(self.path)
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.file.close()
            raise JournalError(f"another process writes to {self.path}; wait for it, or end it") from None

    def append(self, event: dict[str, Any], sync: bool = False) -> None:
        """Appends one event. Raises OSError where the disk is full; what stood there before stays whole."""
        line = json.dumps(event, separators=(",", ":")).encode() + b"\n"
        end = os.fstat(self.file.fileno()).st_size
        try:
            while line:
                line = line[self.file.write(line) :]
            if sync:
                os.fsync(self.file.fileno())
        except OSError:
            os.ftruncate(self.file.fileno(), end)
            raise

    def repair(self) -> None:
        """Takes away a last line that is torn, as a crash leaves it."""
        with files.opened(self.path) as file:
            whole = size = file.seek(0, os.SEEK_END)
            while whole:
                begin = max(0, whole - TAIL)
                file.seek(begin)
                found = file.read(whole - begin).rfind(b"\n") + 1
                whole = begin + found
                if found:
                    break
        if whole < size:
            os.ftruncate(self.file.fileno(), whole)

    def close(self) -> None:
        """Lets go of the file."""
        self.file.close()


def each(folder: Path) -> Iterator[dict[str, Any]]:
    """The events of a journal one by one, less a torn last line. Raises JournalError.

    What is read of each has been checked, unless the journal is of another version.
    """
    path = folder / NAME
    try:
        with files.opened(path) as file:
            yield from _events(path, file)
    except OSError as error:
        raise JournalError(
            f"{folder} is no run: {error.strerror} ({path.name}); {_run_to_name(folder, error)}"
        ) from None


def _run_to_name(folder: Path, error: OSError) -> str:
    """What to name where this is no run's folder; it may be a run as it was packed."""
    if error.errno != errno.ENOTDIR or not folder.name.endswith(PACKED) or not folder.is_file():
        return "name the folder that tunbench run made"
    names = (str(folder), f"{str(folder).removesuffix(PACKED)}-unpacked")
    packed, unpacked = (plain_text.line(shlex.quote(name), 2 * len(name)) for name in names)
    return f"it is packed: unpack it with: mkdir {unpacked} && tar xjf {packed} -C {unpacked}, and name {unpacked}"


def events(folder: Path, most: int | None = None) -> list[dict[str, Any]]:
    """All events of a journal, or its first ones, as `each` yields them. Raises JournalError."""
    return list(islice(each(folder), most))


def _events(path: Path, file: BinaryIO) -> Iterator[dict[str, Any]]:
    values, known, consistency = 0, True, Consistency()
    if os.fstat(file.fileno()).st_size > bounds.MAX_JOURNAL_BYTES:
        raise JournalError(
            f"{path} has more than {bounds.MAX_JOURNAL_BYTES >> 30} GiB, and no report can be made of so much"
        )
    for number in count(1):
        line = file.readline(bounds.MAX_LINE_BYTES)
        if not line.endswith(b"\n"):
            if len(line) < bounds.MAX_LINE_BYTES:
                return
            raise JournalError(
                f"{path}, line {number}: longer than {bounds.MAX_LINE_BYTES >> 20} MiB, which no event is"
            )
        values += sum(map(line.count, MARKS))
        if values > bounds.MAX_VALUES:
            most = f"{bounds.MAX_VALUES} values"
            raise JournalError(f"{path}, line {number}: more than {most} up to here; no report can be made of them")
        try:
            # As it was written. One other character in a long text would make each of its characters take four bytes.
            event = DECODER.decode(line.decode("ascii"))
            # What another version wrote is not ours to check: whoever reads its header says so.
            known = known and (number > 1 or event["event"] != "run" or event.get("journal") == VERSION)
            validation.check(event, validation.EVENT_CHECKS if known else {})
            if known:
                consistency.check(event)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            mend = KEEP_WHAT_IS_ABOVE if number > 1 else f"Nothing of it can be kept: {MEND}"
            raise JournalError(
                f"{path}, line {number}: {reason(error, 'not an event')}; the journal is damaged. {mend}"
            ) from None
        yield event


def _refuse(name: str) -> None:
    raise InvalidEvent(f"it has the number {name}")


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A table of JSON. Raises InvalidEvent where a key is there twice: each reader would take another of its values."""
    table = dict(pairs)
    if len(table) < len(pairs):
        raise InvalidEvent("it has a key twice")
    return table


DECODER = json.JSONDecoder(parse_constant=_refuse, object_pairs_hook=_table)
"""What reads a line."""


def reason(error: Exception, otherwise: str) -> str:
    """What is wrong in words; a parser's own are not for the user, who is told what it is `otherwise`."""
    return str(error) if isinstance(error, InvalidEvent) else otherwise
