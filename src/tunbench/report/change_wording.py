"""A comparison in words: the change of a cell with its interval, its p, and what differs between two runs."""

import math
from collections import Counter
from collections.abc import Sequence

from tunbench.analysis.compare.compared_cell import ComparedCell, counts
from tunbench.analysis.compare.gate import GateResult
from tunbench.analysis.compare.runs import LEVEL, RunComparison
from tunbench.plain_text import line
from tunbench.report import units
from tunbench.runner.node.node import ROOT_NODE

POINTS = "pp"
"""Percentage points: how the difference of two ratios is shown, so that it is not taken for a share of A."""

MAX_NOTES, MAX_REASON_CHARACTERS = 8, 300
"""Notes below a table at most, and characters of each."""

MAX_NAMED = 6
"""Things by name that differ of the runs, in the sentence above the verdicts."""

DIGEST_CHARACTERS = 12
"""Characters that are shown of what identifies an image or a runner."""


def median(row: ComparedCell, side: str) -> str:
    """The median of one side, `a` or `b`, with the number of its trials."""
    value, n = (row.median_a, row.n_a) if side == "a" else (row.median_b, row.n_b)
    return units.NOTHING if value is None else f"{units.quantity(value, row.unit)} ({n})"


def change(row: ComparedCell) -> str:
    """The shift with its interval: a share of A in percent where there is one, else in the metric's own unit.

    One trial on each side has no interval: its coverage is 0.
    """
    if row.shift is None or row.shift_low is None or row.shift_high is None:
        return units.NOTHING
    if row.relative is not None and row.relative_low is not None and row.relative_high is not None:
        text = _interval(row.relative, row.relative_low, row.relative_high, 0.01, "%")
    elif row.unit == "ratio":
        text = _interval(row.shift, row.shift_low, row.shift_high, 0.01, POINTS)
    else:
        scale = units.scale(max(map(abs, (row.shift, row.shift_low, row.shift_high))), row.unit)
        text = _interval(row.shift, row.shift_low, row.shift_high, scale.factor, scale.symbol)
    return text if row.coverage else text.partition(" [")[0]


def effect(row: ComparedCell) -> str:
    """Cliff's δ with its word."""
    return units.NOTHING if row.delta is None else f"{units.number(row.delta, 2)} {row.effect}"


def p_value(row: ComparedCell) -> str:
    """The corrected p."""
    if row.corrected is None:
        return units.NOTHING
    return "< 0.001" if row.corrected < 0.001 else f"{row.corrected:.3f}"


def notes(rows: Sequence[ComparedCell]) -> list[str]:
    """Why cells ended as they did: each reason once, with the number of its cells, the most frequent first."""
    found = Counter((row.verdict, row.why) for row in rows if row.why)
    lines = [
        f"{verdict}, {number} {'cell' if number == 1 else 'cells'}: {reason(why)}"
        for (verdict, why), number in found.most_common()
    ]
    more = [f"and {len(lines) - MAX_NOTES} more reasons"] if len(lines) > MAX_NOTES else []
    return [*lines[:MAX_NOTES], *more]


def reason(why: str) -> str:
    """Why a cell ended as it did, on one line."""
    return " ".join(why[:MAX_REASON_CHARACTERS].split())


def headline(compared: RunComparison) -> str:
    """How many cells have which verdict, in one sentence."""
    if compared.identical:
        return f"identical: both runs have the same fingerprint ({cells(len(compared.rows))})"
    listed = ", ".join(f"{number} {verdict}" for verdict, number in counts(compared.rows).items())
    return f"{cells(len(compared.rows))}: {listed}"


def of_gate(judged: GateResult) -> str:
    """What a gate says, in one sentence."""
    amiss = "".join(f"; {one.why}" for one in judged.of_runs)
    if judged.identical:
        return f"identical: both runs have the same fingerprint ({cells(len(judged.cells))}){amiss}"
    listed = ", ".join(f"{number} {outcome}" for outcome, number in judged.counts.items())
    tolerance = units.plain(judged.tolerance, "ratio")
    return f"{cells(len(judged.cells))}, tolerance {tolerance}: {listed}{amiss}"


def cells(number: int) -> str:
    """A number of cells in words. A row of a comparison is a cell and one of its metrics."""
    return f"{number} {'cell' if number == 1 else 'cells'}"


def differing_by_name(compared: RunComparison) -> str:
    """What differs of the runs besides their numbers, in one sentence; empty where nothing does."""
    names = [one.what for one in compared.differences]
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return (
        line(f"The runs also differ in: {', '.join(names[:MAX_NAMED])}{more}", MAX_REASON_CHARACTERS) if names else ""
    )


def differing(compared: RunComparison) -> list[str]:
    """What differs of the runs besides their numbers, one line each."""
    found = [
        f"{one.what}: {_shortened(one.a) or units.NOTHING} → {_shortened(one.b) or units.NOTHING}"
        for one in compared.differences
    ]
    return [line(text, len(text)) for text in found]


def method(compared: RunComparison) -> str:
    """What the numbers are, in one sentence."""
    tests = f"{compared.tests} {'test' if compared.tests == 1 else 'tests'}"
    tested = (
        f"Mann-Whitney, Holm-corrected over {tests}, shown below {LEVEL}" if compared.tests else "nothing was tested"
    )
    interval = f"its 95{units.NBSP}% interval (less of few trials)"
    shift = f"Hodges-Lehmann shift from {' to '.join(compared.sides)}"
    return f"change: {shift} with {interval}; effect: Cliff's delta; p: {tested}"


def metric_label(row: ComparedCell) -> str:
    """The metric, and the node and pair where it was not measured at the client of the first pair."""
    where = [word for word, usual in ((row.pair, "a-b"), (row.node, "a")) if word not in (usual, "", ROOT_NODE)]
    return ", ".join([row.name, *where])


def _interval(value: float, low: float, high: float, factor: float, symbol: str) -> str:
    shown = [_signed(bound / factor) for bound in (value, low, high)]
    return f"{shown[0]}{units.NBSP}{symbol} [{shown[1]}, {shown[2]}]".replace(f"{units.NBSP} ", " ")


def _signed(value: float) -> str:
    text = units.number(value) if math.isfinite(value) else str(value)
    return f"+{text}" if value > 0 else text


def _shortened(text: str) -> str:
    return text[:DIGEST_CHARACTERS] if len(text) == 64 and " " not in text else text
