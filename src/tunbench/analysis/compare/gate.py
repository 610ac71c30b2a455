"""Whether a run may pass: no cell worse than in another run by more than a tolerance, none failed, none missing."""

import math
from typing import NamedTuple

from tunbench.analysis.compare.compared_cell import FAILED_A, FAILED_B, ONLY_A, ONLY_B, UNDECIDED, WORSE, ComparedCell
from tunbench.analysis.compare.runs import RunComparison

SIDES = BASE, NEW_RUN = "the base", "the new run"
"""What a gate calls the two runs."""

FAILED, MISSING, NEW, PASSED = "failed", "missing", "new", "passed"

OUTCOMES = (FAILED, WORSE, MISSING, UNDECIDED, NEW, PASSED)
"""What a gate makes of a cell, the worst first."""

STOPPING = (FAILED, WORSE, MISSING)
"""The outcomes that no run passes with."""


class GatedCell(NamedTuple):
    """A compared cell, its outcome, and why."""

    row: ComparedCell
    outcome: str
    why: str


class RunFinding(NamedTuple):
    """What is amiss of a whole run: as of a cell, what it is of, its outcome, and why; and whether it stops the run."""

    name: str
    outcome: str
    why: str
    stops: bool


class GateResult(NamedTuple):
    """What a gate found; `strict` says that what nobody can judge stops as well: undecided cells, an unfinished base.

    `lacking` are the trials that the base and the new run were to have and have not.
    """

    cells: list[GatedCell]
    tolerance: float
    strict: bool
    identical: bool
    lacking: tuple[int, int] = (0, 0)

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
    def decided(self) -> bool:
        """Whether anything can be said about one cell at least."""
        return any(one.outcome not in (UNDECIDED, NEW) for one in self.cells)

    @property
    def of_runs(self) -> list[RunFinding]:
        """What is amiss of whole runs.

        A new run that lacks trials does not pass: what is not there may be what broke. What a base lacks nobody can
        compare with. Where no cell has values in both, nothing was gated, whatever each of them is.
        """
        (old, new), compared = self.lacking, any(one.row.n_a and one.row.n_b for one in self.cells)
        nothing = "nothing was compared: no cell has values in both runs"
        found = (
            (new, RunFinding("trials", MISSING, _missing(new, NEW_RUN), stops=True)),
            (old, RunFinding("trials of the base", MISSING, _missing(old, BASE), stops=self.strict)),
            (not compared, RunFinding("comparison", UNDECIDED, nothing, stops=True)),
        )
        return [one for there, one in found if there]

    @property
    def passes(self) -> bool:
        """Whether the run passes."""
        return not self.stopping and not any(one.stops for one in self.of_runs)

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
    if row.verdict == ONLY_B:
        return GatedCell(row, NEW, f"{BASE} has no value of it") if row.n_b else GatedCell(row, FAILED, row.why)
    if row.verdict == FAILED_A:
        return GatedCell(row, PASSED, f"failed in {BASE}")
    return GatedCell(row, PASSED, row.verdict)


def _missing(trials: int, of: str) -> str:
    return f"{trials} trials of {of} are missing" if trials > 1 else f"1 trial of {of} is missing"
