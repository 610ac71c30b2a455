"""The one door to the record of a folder: whoever needs one asks here, and a reader of others' results joins here.

A reader's `record` raises JournalError where a folder is damaged, with a message that says what to do, and keeps bounds
of its own: the files may come from anyone, and nothing is checked again behind this door. A trial's cell has a value
for each of axes.TRIAL. Where nobody told them, `repeat` counts the trials of a cell from 1, in the order in which they
were measured, and `seed` is 0: analysis tells the trials of a cell apart by these two.
"""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tunbench.journal.readers import journal
from tunbench.journal.record import Record


class Reader(NamedTuple):
    """One kind of results: whether a folder holds them, and the record that they make."""

    recognises: Callable[[Path], bool]
    record: Callable[[Path], Record]


JOURNALS = Reader(journal.recognises, journal.record)
"""Tunbench's own runs. It tells what is wrong with a folder that nobody recognises, too."""

READERS = (JOURNALS,)


def record_of(folder: Path) -> Record:
    """All that a folder of results holds. Raises JournalError where it holds none, or they are damaged."""
    reader = next((reader for reader in READERS if reader.recognises(folder)), JOURNALS)
    return reader.record(folder)
