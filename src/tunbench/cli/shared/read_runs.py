"""How a command reads a run of which it shows numbers: what is missing of it, and what was changed, is told beside."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tunbench.cli.shell.errors import complain
from tunbench.journal.folders import resume_command
from tunbench.journal.journal import JournalError
from tunbench.journal.readers.registry import record_of
from tunbench.journal.record import Record
from tunbench.plain_text import line
from tunbench.run.verify import their_run

if TYPE_CHECKING:
    from tunbench.analysis.study.assessment import Assessment


def record_told(run: Path) -> Record:
    """All that a run's folder holds; what its reader must know of it is told on stderr. Raises JournalError."""
    record = record_of(run)
    tell_missing(run, record)
    try:
        changed = their_run.changed_since_its_end(run, record)
    except JournalError as error:
        # Nothing but the fingerprint is taken from the manifest, and no number depends on it.
        changed = str(error)
    if changed:
        complain(changed)
    return record


def tell_missing(run: Path, record: Record) -> None:
    """Tells on stderr how many trials are not there, and how they are executed."""
    if record.missing:
        missing = f"{record.missing} of {record.planned} trials are missing"
        complain(f"{line(str(run))}: {missing}; go on with: {resume_command(run)}")


def tell_study(run: Path, assessment: "Assessment | None", unreadable: str = "") -> None:
    """Tells on stderr why a run's study cannot be read, or that other published numbers than the run's own are."""
    study = assessment.study if assessment else None
    if unreadable:
        complain(f"{line(str(run))}: its study cannot be read: {unreadable}")
    elif study and study.table and not os.path.lexists(run / study.reference):
        comes = "the published numbers are those that come with this Tunbench"
        complain(f"{line(str(run))} has no {study.reference}, as a run of its study has: {comes}")
