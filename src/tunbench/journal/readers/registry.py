"""The one door to the record of a folder: whoever needs one asks here, and a reader of others' results joins here."""

from pathlib import Path

from tunbench.journal.readers import journal
from tunbench.journal.record import Record


def record_of(folder: Path) -> Record:
    """All that a folder of results holds. Raises JournalError where it holds none, or they are damaged."""
    return journal.record(folder)
