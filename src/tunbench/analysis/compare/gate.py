"""Whether a run may pass: no cell worse than in another run by more than a tolerance, none failed, none missing."""

import math
from typing import NamedTuple

from tunbench.analysis.compare.compared_cell import FAILED_A, FAILED_B, ONLY_A, ONLY_B, UNDECIDED, WORSE, ComparedCell
from tunbench.analysis.compare.runs import RunComparison

SIDES = BASE, NEW_RUN = "the base", "the new run"
"""What a gate calls the two runs."""

FAILED, MISSING, PASSED = "failed", "missing", "passed"

OUTCOMES = (FAILED, WORSE, MISSING, UNDECIDED, PASSED)
"""What a gate makes of a cell, the worst first."""

STOPPING = (FAILED, WORSE, MISSING)
"""The outcomes that no run passes with."""


class GatedCell(NamedTuple):
    """A compared cell, its outcome, and why."""

    row: ComparedCell
    outcome: str
    why: str


class GateResult(NamedTuple):
    """What a gate found; `strict` says that undecided cells stop as well.

    A run that lacks trials does not pass: what is not there may be what broke.
    """

    cells: list[GatedCell]
    tolerance: float
    strict: bool
    identical: bool
    lacking: int = 0

    @property
    def stopping(self) -> list[GatedCell]:
        """The cells that keep the run from passing, the worst first."""
        stops = (*STOPPING, UNDECIDED) if self.strict else STOPPING
        return sorted((one for one in self.cells if one.outcome in stops), key=lambda one: OUTCOMES.index(one.outcome))

    @property
    def undecided(self) -> list[GatedCell]:
        """The cells that nothing can be said about."""
        return [one for one in self.cells if one.outcome == UNDECIDED]

    @property
    def passes(self) -> bool:
        """Whether the run passes."""
        return not self.stopping and not self.lacking

    @property
    def counts(self) -> dict[str, int]:
        """How many cells have each outcome, in the order of OUTCOMES; an outcome that none has is left out."""
        found = {outcome: sum(one.outcome == outcome for one in self.cells) for outcome in OUTCOMES}
        return {outcome: number for outcome, number in found.items() if number}


def gate(compared: RunComparison, tolerance: float, strict: bool = False) -> GateResult:
    """Judges every compared cell; the tolerance is a share of A, such as 0.02 for 2 %.

    A cell stops the run where it is worse with a corrected p below the level, and by more than the tolerance at the
    near end of an interval that holds for all rows together (`Row.least`); where a larger share of its trials failed
    than in A; and where it is missing.
    """
    return GateResult(
        [_judged(row, tolerance) for row in compared.rows], tolerance, strict, compared.identical, compared.lacking
    )


def _judged(row: ComparedCell, tolerance: float) -> GatedCell:
    if row.verdict == FAILED_B:
        return GatedCell(row, FAILED, row.why)
    if row.verdict == ONLY_A:
        return GatedCell(row, MISSING, row.why)
    if row.verdict == UNDECIDED:
        return GatedCell(row, UNDECIDED, row.why)
    if row.verdict == WORSE and row.least is not None:
        if math.isinf(row.least):
            return GatedCell(row, WORSE, f"{BASE} has none of it")
        if row.least > tolerance:
            return GatedCell(row, WORSE, f"by at least {row.least:.2%}".replace("%", " %"))
        return GatedCell(row, PASSED, "worse, but not by more than the tolerance beyond doubt")
    if row.verdict == ONLY_B and not row.n_b:
        return GatedCell(row, FAILED, row.why)
    if row.verdict == FAILED_A:
        return GatedCell(row, PASSED, f"failed in {BASE}")
    return GatedCell(row, PASSED, "new" if row.verdict == ONLY_B else row.verdict)
