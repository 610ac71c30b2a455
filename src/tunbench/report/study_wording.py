"""What a run says of a study, in words."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tunbench.analysis.statistics import Estimate
from tunbench.analysis.study.assessment import Assessment
from tunbench.analysis.study.cell_lookup import NOT_RUN
from tunbench.analysis.study.claims import (
    NOT_REPRODUCED,
    REPRODUCED,
    UNDECIDED,
    VERDICTS,
    ClaimResult,
    ComparisonResult,
)
from tunbench.analysis.study.cluster_agreement import ClusterAgreement
from tunbench.analysis.study.clusters import Cluster
from tunbench.analysis.study.prediction import TablePrediction
from tunbench.analysis.study.rank_correlation import RankCorrelation
from tunbench.analysis.study.table_agreement import ComparedNumber, TableAgreement
from tunbench.plan.study.cell import METRIC, Expected
from tunbench.plan.study.claim import Comparison
from tunbench.report import units
from tunbench.report.prediction_wording import CALIBRATES
from tunbench.runner.declare import axes

MAX_COMPARISONS = 8
"""Comparisons of a claim that are shown at once."""

NO_NUMBERS = "no numbers"
"""What stands for the agreement of a table of which no number could be compared."""

SIDES = (*axes.NAMES, "metric", "statistic", "node", "pair")
"""What two sides of a comparison can differ in."""

NAMED = ("metric", "statistic", "workload")
"""What has its own place in the words for a comparison."""

PLACE = ("node", "pair")
"""What is said wherever it is given."""


def compared(one: ComparisonResult) -> str:
    """A comparison in words: what was compared, what came of it, and what was expected."""
    return f"{subject(one)}: {outcome(one)}; expected {expectation(one)}"


def subject(one: ComparisonResult) -> str:
    """What was compared, such as `ipip ÷ gre, throughput of iperf3-tcp, baseline`."""
    some_absent = one.left.absent or (one.right is not None and one.right.absent)
    return _subject(*_cells(one), axes.NAMES if some_absent else one.left.varied)


def outcome(one: ComparisonResult) -> str:
    """What a comparison came to: the ratio or value with its interval, or why there is none."""
    if one.estimate is None:
        return reason(one)
    found = estimate_in_words(one.estimate, "" if one.right else one.left.unit)
    return "; ".join(part for part in (found, one.why, *lacking(one)) if part)


def reason(one: ComparisonResult) -> str:
    """Why there is no estimate, or nothing that decides; of two sides which it is, unless the plan has neither."""
    left, right = _cells(one)
    if one.right is None or right is None or (one.left.absent and one.right.absent):
        return one.why
    differ, sides = _differ(left, right), ((left, one.left), (right, one.right))
    return "; ".join(f"{_side_named(cell, differ)}: {side.why}" for cell, side in sides if side.why) or one.why


def lacking(one: ComparisonResult) -> list[str]:
    """The sides of a comparison of which some trials are not ok, each with how many are."""
    sides = [side for side in (one.left, one.right) if side]
    differ = _differ(one.left.cell, one.right.cell if one.right else None)
    return [f"{_side_named(side.cell, differ)}: {side.trials.in_words}" for side in sides if side.trials.in_words]


def remarks_on_number(row: ComparedNumber, table: TableAgreement, predicted: TablePrediction | None) -> str:
    """What is to be said of a row of a table: why a number is missing, how it was scaled, what else it is for."""
    trials = row.found.trials.in_words if row.found and row.measured else ""
    scaled = f"measured × {table.table.scaled_by:g}" if row.measured and table.table.scaled_by != 1 else ""
    summed = f"sum of {row.found.summed} pairs and nodes" if row.found and row.measured and row.found.summed > 1 else ""
    calibrates = CALIBRATES if predicted and row in predicted.calibrating else ""
    return "; ".join(part for part in (row.why, trials, summed, scaled, calibrates) if part)


def with_predictions(of: Assessment) -> list[tuple[TableAgreement, TablePrediction | None]]:
    """Each table with what is predicted of it, where something calibrates the machine."""
    predicted = of.prediction.tables if of.prediction else [None] * len(of.tables)
    return list(zip(of.tables, predicted, strict=True))


def expectation(one: ComparisonResult) -> str:
    """What was expected, in the unit of a value that is no ratio of two."""
    return expected(one.comparison.expect, "" if one.right else one.left.unit)


def expected(expect: Expected, unit: str) -> str:
    """An expectation of a value in an SI unit, such as `< 5 ms`; without a unit as it is written."""
    if not unit:
        return expect.text
    low, high = (units.plain(bound, unit) for bound in (expect.low, expect.high))
    if math.isfinite(expect.low) and math.isfinite(expect.high):
        return f"{low}..{high}"
    sign = "" if expect.strict else "="
    return f">{sign} {low}" if math.isfinite(expect.low) else f"<{sign} {high}"


def estimate_in_words(found: Estimate, unit: str) -> str:
    """A median with its interval, and what that is; without a unit it is a ratio of two values."""
    trials = "1 trial" if found.n == 1 else f"{found.n} trials"
    median = units.quantity(found.median, unit) if unit else units.ratio(found.median)
    if found.n == 1:
        return f"{median}, {trials}"
    bounds = units.interval(found.low, found.median, found.high, unit) if unit else _bounds(found)
    return f"{median} {bounds}, {found.kind} of {trials}"


def comparison_in_words(comparison: Comparison, unit_of: Mapping[str, str]) -> str:
    """A comparison before it is made, in words; `unit_of` are the units of metrics."""
    left, right = comparison.cells["left"], comparison.cells.get("right")
    unit = "ratio" if "verdict" in left else unit_of.get(left.get("metric", METRIC), "")
    unit = "" if right is not None else unit
    return f"{_subject(left, right)} {expected(comparison.expect, unit)}"


def agreement(found: RankCorrelation) -> str:
    """Kendall's tau and Spearman's rho with their p, and of how many numbers; or why there are none."""
    if found.tau is None or found.rho is None:
        return f"{NO_NUMBERS}: {found.method}" if found.n else NO_NUMBERS
    tied = f"{found.tied} {'pair ties' if found.tied == 1 else 'pairs tie'}: {ceiling(found)}" if found.tied else ""
    tau = _bracketed(_p(found.tau_p) if found.tau_p is not None else "", tied)
    rho = _bracketed(_p(found.rho_p) if found.rho_p is not None else "")
    return f"τ {coefficient(found.tau)}{tau}, ρ {coefficient(found.rho)}{rho}, n = {found.n}"


def ceiling(found: RankCorrelation) -> str:
    """What τ comes to at most where published values tie; empty where none do."""
    return f"τ ≤ {coefficient(found.most)}" if found.tied else ""


def of_table(one: TableAgreement) -> str:
    """The agreement of a table: that of its conditions, and that of all rows together."""
    found = sorted(each.tau for each in one.conditions.values() if each.tau is not None)
    if len(found) < 2:
        return agreement(one.whole)
    conditions = f"τ {coefficient(found[0])} to {coefficient(found[-1])} in {len(found)} conditions"
    return f"{conditions}; all rows together {agreement(one.whole)}"


def coefficient(value: float | None) -> str:
    """A coefficient with two decimals."""
    return units.NOTHING if value is None else f"{value:.2f}".replace("-", units.MINUS)


def probability(value: float | None) -> str:
    """A probability with two significant digits."""
    if value is None:
        return units.NOTHING
    return "<\N{NO-BREAK SPACE}0.001" if value < 0.001 else units.number(value, 2)


def clusters(found: ClusterAgreement) -> str:
    """The agreement of a clustering in words, behind its name."""
    if found.rand is None:
        return f"{found.name}: {found.why}"
    silhouette = found.silhouettes[len(found.measured)]
    measured = f"{len(found.measured)} measured clusters, mean silhouette {coefficient(silhouette)}"
    told = "; ".join((measured, *found.notes))
    return f"{found.name}: adjusted Rand index {coefficient(found.rand)}, n = {found.n}; {told}"


def cluster(one: Cluster) -> str:
    """The members of a measured cluster of round-trip times, with the mean and the deviation of all of them."""
    deviation = f" ± {units.quantity(one.deviation, 's')}" if one.deviation is not None else ""
    return f"{', '.join(one.members)}: {units.quantity(one.mean, 's')}{deviation}"


def worst_first(one: ClaimResult) -> list[ComparisonResult]:
    """The comparisons of a claim: those that do not hold, then those that nobody knows of, then those that do."""
    order = (NOT_REPRODUCED, UNDECIDED, NOT_RUN, REPRODUCED)
    return sorted(one.compared, key=lambda each: order.index(each.verdict))


def counted(judged: Iterable[ClaimResult | ComparisonResult]) -> str:
    """How many claims or comparisons have each verdict."""
    found = Counter(one.verdict for one in judged)
    counts = {verdict: found[verdict] for verdict in VERDICTS}
    return ", ".join(f"{number} {verdict}" for verdict, number in counts.items() if number)


def _subject(left: Mapping[str, str], right: Mapping[str, str] | None, varied: Sequence[str] = axes.NAMES) -> str:
    """The sides by what they differ in, and what both have of what varies."""
    differ = _differ(left, right)
    sides = [_side_named(side, differ) for side in (left, right) if side is not None]
    metric = "" if "metric" in differ else _measured(left)
    statistic = "" if "statistic" in differ or left.get("statistic") in (None, "value") else f"{left['statistic']} "
    workload = f" of {left['workload']}" if "workload" in left and "workload" not in differ else ""
    said = [key for key in SIDES if key in left and key not in (*differ, *NAMED) and (key in varied or key in PLACE)]
    return ", ".join(
        part
        for part in (" ÷ ".join(sides), f"{statistic}{metric}{workload}".strip(), *(left[key] for key in said))
        if part
    )


def _measured(side: Mapping[str, str]) -> str:
    """The metric of a cell, or of which trials it is the share."""
    return f"{side['verdict']} trials" if "verdict" in side else side.get("metric", METRIC)


def _cells(one: ComparisonResult) -> tuple[Mapping[str, str], Mapping[str, str] | None]:
    """The cells of both sides: as the claim has them where one is absent, else as they were found.

    Where one has no value, nobody knows which statistic is meant: that is said as far as the claim says it.
    """
    asked, sides = one.comparison.cells, [side for side in (one.left, one.right) if side]
    if any(side.absent for side in sides):
        return asked["left"], asked.get("right")
    some = any(side.why for side in sides)
    left, *right = [
        {key: value for key, value in side.cell.items() if not some or key != "statistic" or key in asked[name]}
        for name, side in zip(("left", "right"), sides, strict=False)
    ]
    return left, right[0] if right else None


def _differ(left: Mapping[str, str], right: Mapping[str, str] | None) -> list[str]:
    return [key for key in SIDES if right is not None and left.get(key) != right.get(key)] or ["stack"]


def _side_named(side: Mapping[str, str], differ: Sequence[str]) -> str:
    return ", ".join(_measured(side) if key == "metric" else side.get(key, units.NOTHING) for key in differ)


def _bounds(found: Estimate) -> str:
    return f"[{units.ratio(found.low)}, {units.ratio(found.high)}]"


def _bracketed(*parts: str) -> str:
    told = "; ".join(part for part in parts if part)
    return f" ({told})" if told else ""


def _p(value: float | None) -> str:
    text = probability(value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"
