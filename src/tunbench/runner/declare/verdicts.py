"""What becomes of a trial, in one enumeration."""

from enum import StrEnum


class Verdict(StrEnum):
    """The verdict of a trial; the worse ones come first."""

    FAILED = "failed"
    UNSUPPORTED = "unsupported"
    OK = "ok"


WORST_FIRST = tuple(Verdict)

BEST_FIRST = tuple(reversed(Verdict))
