"""Claims of a text, each tested over the trials of a run."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tunbench.analysis.statistics import CONFIDENCE, RANGE, Estimate, estimate, share
from tunbench.analysis.study.cell_lookup import NOT_RUN, CellValues, MeasuredCells, Pair, look_up
from tunbench.plan.study.cell import Expected
from tunbench.plan.study.claim import Comparison, StudyClaim

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
UNDECIDED = "undecided"
NOT_TESTABLE = "not testable here"

FEWEST_TO_DECIDE = 3
"""Trials without which nothing is decided: so few have the quick scales. Below six, the interval is their range."""

EQUIVALENCE_CONFIDENCE = 0.9
"""The confidence of the interval that lies within a margin where two are equal: two one-sided tests at 5 % each.

Source: Schuirmann, A Comparison of the Two One-Sided Tests Procedure and the Power Approach for Assessing the
Equivalence of Average Bioavailability, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987).
"""

FEWEST_FOR_EQUIVALENCE = 5
"""Trials from which on the range of all of them is such an interval: 1 − 2 × 0.5⁵ = 93.75 %, and 87.5 % of four."""

VERDICTS = (REPRODUCED, NOT_REPRODUCED, UNDECIDED, NOT_RUN, NOT_TESTABLE)
"""The verdicts of a claim."""


class ComparisonResult(NamedTuple):
    """A comparison: what was found of both sides, the estimate of the ratio or value, and the verdict.

    `why` says why there is no estimate.
    """

    comparison: Comparison
    left: CellValues
    right: CellValues | None
    estimate: Estimate | None
    verdict: str
    why: str = ""


class ClaimResult(NamedTuple):
    """A claim, its verdict, and its comparisons."""

    claim: StudyClaim
    verdict: str
    compared: tuple[ComparisonResult, ...]


def assess_claims(claims: Sequence[StudyClaim], run: MeasuredCells) -> list[ClaimResult]:
    """The verdict of each claim."""
    judged = []
    for claim in claims:
        compared = tuple(compare(one, run, len(claim.compare)) for one in claim.compare)
        judged.append(ClaimResult(claim, overall([one.verdict for one in compared]), compared))
    return judged


def overall(verdicts: Sequence[str]) -> str:
    """The verdict of a claim, of which all comparisons must hold: one that does not is enough to refute it."""
    if not verdicts:
        return NOT_TESTABLE
    return next((one for one in (NOT_REPRODUCED, NOT_RUN, UNDECIDED) if one in verdicts), REPRODUCED)


def compare(comparison: Comparison, run: MeasuredCells, among: int = 1) -> ComparisonResult:
    """Left's values, or their ratios to right's under the same seed, against what is expected.

    One comparison `among` several is enough to refute their claim. So that this is not due to their number, one is
    refuted by an interval of so much more confidence (Bonferroni).
    """
    cells = comparison.cells
    left, right = look_up(cells["left"], run), look_up(cells["right"], run) if "right" in cells else None
    sides = [side for side in (left, right) if side is not None]
    for absent, verdict in ((True, NOT_RUN), (False, UNDECIDED)):
        for side in sides:
            if side.why and side.absent == absent:
                return ComparisonResult(comparison, left, right, None, verdict, side.why)
    values = list(left.values.values()) if right is None else ratios(left.values, right.values)
    if not values:
        return ComparisonResult(comparison, left, right, None, UNDECIDED, "no trials share a seed")
    estimated = share if "verdict" in left.cell else estimate
    found = estimated(values)
    if len(values) < FEWEST_TO_DECIDE:
        return ComparisonResult(
            comparison, left, right, found, UNDECIDED, f"it takes {FEWEST_TO_DECIDE} trials to decide"
        )
    verdict = verdict_of(found, comparison.expect)
    if verdict == NOT_REPRODUCED:
        # What is told is the interval that decides.
        found = estimated(values, 1 - (1 - CONFIDENCE) / among)
        verdict = verdict_of(found, comparison.expect)
    elif comparison.expect.equal:
        return _equal(ComparisonResult(comparison, left, right, found, verdict), values)
    return ComparisonResult(comparison, left, right, found, verdict)


def _equal(of: ComparisonResult, values: Sequence[float]) -> ComparisonResult:
    """Reproduced where the interval of two one-sided tests lies within the margin, and undecided where it does not."""
    found = estimate(values, EQUIVALENCE_CONFIDENCE)
    if found.kind == RANGE:
        why = f"it takes {FEWEST_FOR_EQUIVALENCE} trials to show that two are equal"
        return of._replace(verdict=UNDECIDED, why=why)
    within = verdict_of(found, of.comparison.expect) == REPRODUCED
    return of._replace(estimate=found, verdict=REPRODUCED if within else UNDECIDED)


def ratios(left: Mapping[Pair, float], right: Mapping[Pair, float]) -> list[float]:
    """Left's values divided by right's of the same repeat and seed, so that what a seed does to both cancels.

    Nothing divided by nothing is 1, because both are equal; anything else divided by nothing is infinite.
    """
    return [_ratio(left[pair], right[pair]) for pair in left if pair in right]


def verdict_of(found: Estimate, expected: Expected) -> str:
    """Reproduced where the whole interval is as expected, not reproduced where none of it is, or else undecided."""
    if expected.below(found.high) or expected.above(found.low):
        return NOT_REPRODUCED
    if not expected.below(found.low) and not expected.above(found.high):
        return REPRODUCED
    return UNDECIDED


def _ratio(left: float, right: float) -> float:
    if right:
        return left / right
    return math.copysign(math.inf, left) if left else 1.0
