"""The journal: an append-only file of JSON lines, which one process at a time may write."""

import fcntl
import json
import os
from pathlib import Path
from typing import Any

NAME = "journal.jsonl"

VERSION = 2
"""Of what events hold: it grows where an older version could not be read any more."""


class JournalError(Exception):
    """A journal cannot be used; the message says why, and the mend."""


class Journal:
    """Appends events. What was appended with `sync` is on the disk when the call returns."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        # Unbuffered: a line that the disk did not take must not come back when the file is closed.
        self.file = self.path.open("ab", buffering=0)
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
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            os.ftruncate(self.file.fileno(), whole)

    def close(self) -> None:
        """Lets go of the file."""
        self.file.close()


def events(folder: Path, most: int | None = None) -> list[dict[str, Any]]:
    """All events of a journal, less a torn last line, or its first ones. Raises JournalError."""
    path = folder / NAME
    try:
        data = path.read_bytes()
    except OSError as error:
        raise JournalError(
            f"{folder} is no run: {error.strerror} ({path.name}); name the folder that tunbench run made"
        ) from None
    found = []
    for number, line in enumerate(data.split(b"\n")[:-1][:most], start=1):
        try:
            event = json.loads(line)
            event["event"]
        except (ValueError, KeyError, TypeError):
            raise JournalError(
                f"{path}, line {number}: not an event; the journal is damaged. What stands above that line is whole: "
                "cut the file there to keep it"
            ) from None
        found.append(event)
    return found
