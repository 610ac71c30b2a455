"""What becomes of a trial, in one enumeration."""

from enum import StrEnum


class Verdict(StrEnum):
    """The verdict of a trial; the worse ones come first."""

    FAILED = "failed"
    UNSUPPORTED = "unsupported"
    OK = "ok"


WORST_FIRST = tuple(Verdict)

COUNTING_ORDER = (Verdict.OK, *(verdict for verdict in Verdict if verdict != Verdict.OK))
"""The order in which a report counts trials: those that are well, then the worse ones first."""
