"""One compared cell: what stands in its row, the verdicts that it can have, and the order of rows."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import polars as pl

from tunbench.analysis.metrics import spelled

FAILED_B, WORSE, ONLY_A, DIFFERENT, UNDECIDED = "failed in B", "worse", "only in A", "different", "undecided"
NOTHING_SHOWN, BETTER, ONLY_B, FAILED_A = "no difference shown", "better", "only in B", "failed in A"
FAILED_BOTH, IDENTICAL = "failed in both", "identical"

VERDICTS = (
    *(FAILED_B, WORSE, ONLY_A, DIFFERENT, UNDECIDED, NOTHING_SHOWN),
    *(BETTER, ONLY_B, FAILED_A, FAILED_BOTH, IDENTICAL),
)
"""What a comparison of one cell can end in, the worst first. A metric that is neither good nor bad can be DIFFERENT."""

NEITHER = "neither"


class ComparedCell(NamedTuple):
    """One cell, metric and statistic in both runs. Values are in `unit`; what there is none of is None.

    `shift` is Hodges and Lehmann's from A to B with its interval, `relative` the same as a share of A, `coverage` the
    probability of both intervals, `least` the least by which B is worse as a share of A, at a confidence that holds for
    all rows of the table together, `delta` Cliff's with its word `effect`, `p` Mann and Whitney's, computed as `method`
    says, and `corrected` the same after Holm. `direction` is that of B's values against A's, shown or not; `verdict`
    one of VERDICTS, and `why` what there is to say to it.
    """

    stack: str
    condition: str
    profile: str
    access: str
    link: str
    topology: str
    tuning: str
    machine: str
    workload: str
    pair: str
    node: str
    metric: str
    statistic: str
    unit: str
    n_a: int
    n_b: int
    median_a: float | None
    median_b: float | None
    verdict: str
    why: str = ""
    direction: str = NEITHER
    shift: float | None = None
    shift_low: float | None = None
    shift_high: float | None = None
    relative: float | None = None
    relative_low: float | None = None
    relative_high: float | None = None
    coverage: float | None = None
    least: float | None = None
    delta: float | None = None
    effect: str = ""
    p: float | None = None
    corrected: float | None = None
    method: str = ""

    @property
    def name(self) -> str:
        """How the metric is called: `rtt` for a trial's median, `rtt p95` for its percentile."""
        return spelled(self.metric, self.statistic)


def worst_first(rows: Iterable[ComparedCell]) -> list[ComparedCell]:
    """The rows by their verdict, in the order of VERDICTS; within it those that changed most first."""
    return sorted(rows, key=lambda row: (VERDICTS.index(row.verdict), -_size(row)))


def counts(rows: Sequence[ComparedCell]) -> dict[str, int]:
    """How many rows have each verdict, in the order of VERDICTS; a verdict that none has is left out."""
    found = {verdict: sum(row.verdict == verdict for row in rows) for verdict in VERDICTS}
    return {verdict: number for verdict, number in found.items() if number}


def frame(rows: Sequence[ComparedCell]) -> pl.DataFrame:
    """The rows as a table, one column a field of ComparedCell."""
    return pl.DataFrame([row._asdict() for row in rows], schema=SCHEMA)


SCHEMA = {
    name: pl.String if kind is str else pl.Int64 if kind is int else pl.Float64
    for name, kind in ComparedCell.__annotations__.items()
}
"""The columns of `frame`."""


def _size(row: ComparedCell) -> float:
    return abs(row.relative) if row.relative is not None else abs(row.delta or 0.0)
