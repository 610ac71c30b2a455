"""Two small runs to compare: a trial for each value, all under one condition."""

import random
from collections.abc import Sequence

from tests.helpers.records import MANIFEST, TCP, cell, record, trial
from tunbench.analysis.compare.runs import SIDES, RunComparison, compare
from tunbench.analysis.compare.selection import Selection
from tunbench.analysis.run_analysis import RunAnalysis, analyse
from tunbench.journal.record import TrialResult

OTHER_MANIFEST = {**MANIFEST, "fingerprint": "another", "runner": "changed"}


def speeds(
    stack: str, values: Sequence[float], workload: str = TCP, metric: str = "throughput", unit: str = "bit/s"
) -> list[TrialResult]:
    """A trial for each value, one a repeat."""
    return [
        trial(cell(stack, "baseline", workload, repeat), [(metric, unit, value)])
        for repeat, value in enumerate(values, start=1)
    ]


def failures(
    stack: str, repeats: Sequence[int], reason: str = "it broke", verdict: str = "failed"
) -> list[TrialResult]:
    """A trial without samples for each repeat."""
    return [trial(cell(stack, "baseline", TCP, repeat), verdict=verdict, reason=reason) for repeat in repeats]


def spread(middle: float, seed: int, n: int = 10) -> list[float]:
    """Values whose standard deviation is 1 % of their middle."""
    rng = random.Random(seed)
    return [middle * rng.gauss(1, 0.01) for _ in range(n)]


def analysis_of(trials: Sequence[TrialResult], manifest: dict[str, object] = MANIFEST) -> RunAnalysis:
    """What follows from a run of these trials."""
    return analyse(record(trials, manifest=dict(manifest)))


def comparison_of(
    a: Sequence[TrialResult],
    b: Sequence[TrialResult],
    choice: Selection = Selection(),  # noqa: B008
    sides: tuple[str, str] = SIDES,
) -> RunComparison:
    """The comparison of two runs, of which the second had another runner."""
    return compare(analysis_of(a), analysis_of(b, OTHER_MANIFEST), choice, sides)
