"""The medians of a run beside those of its shards as they came out here, where equal bytes cannot be expected."""

from collections.abc import Sequence
from pathlib import Path

from tunbench.analysis.compare.compared_cell import (
    BETTER,
    DIFFERENT,
    FAILED_A,
    FAILED_B,
    ONLY_A,
    ONLY_B,
    UNDECIDED,
    WORSE,
)
from tunbench.analysis.compare.manifests import HOSTS
from tunbench.analysis.compare.runs import RunComparison, compare
from tunbench.analysis.compare.selection import CompareError
from tunbench.analysis.run_analysis import analyse
from tunbench.journal.readers.registry import record_of
from tunbench.plan.shard import Shard
from tunbench.run.verify.their_run import TheirRun
from tunbench.run.verify.verification import of_shards

__all__ = ["CompareError", "agree", "compared"]

SHOWN = (FAILED_B, WORSE, ONLY_A, DIFFERENT, BETTER, ONLY_B, FAILED_A)
"""The verdicts that say that a cell is another one here."""


def compared(their: TheirRun, folder: Path, shards: Sequence[Shard]) -> RunComparison:
    """The shards as they were, and as they came out in a folder. Raises JournalError and CompareError.

    What differs of image and tools is told before anything is executed, and is not told again.
    """
    found = compare(analyse(of_shards(their, shards)), analyse(record_of(folder)))
    return found._replace(differences=[one for one in found.differences if one.what in HOSTS])


def agree(found: RunComparison) -> bool | None:
    """Whether no cell is shown to be another one; None where there are too few trials to show anything."""
    if any(row.verdict in SHOWN for row in found.rows):
        return False
    return None if all(row.verdict == UNDECIDED for row in found.rows) else True
