"""The cells of a comparison as a table for the terminal."""

from collections.abc import Callable, Sequence

from rich.text import Text

from tunbench.analysis.compare.compared_cell import (
    BETTER,
    DIFFERENT,
    FAILED_A,
    FAILED_B,
    IDENTICAL,
    ONLY_A,
    WORSE,
    ComparedCell,
)
from tunbench.analysis.compare.gate import FAILED, MISSING, GatedCell
from tunbench.report import change_wording
from tunbench.report.terminal.grid import Grid, GridColumn, GridRow

MAX_ROWS = 25
"""Rows that are shown at most, unless all are asked for."""

STYLES = {
    **dict.fromkeys((FAILED_B, WORSE, ONLY_A), "bold red"),
    **dict.fromkeys((BETTER, FAILED_A), "green"),
    DIFFERENT: "yellow",
    IDENTICAL: "dim",
}
"""How the terminal shows a verdict; those that are not here have no style."""

OUTCOME_STYLES = dict.fromkeys((FAILED, WORSE, MISSING), "bold red")
"""How it shows what a gate makes of a cell."""

PLACES: dict[str, Callable[[ComparedCell], str]] = {
    "stack": lambda row: row.stack,
    "condition": lambda row: row.condition,
    "workload": lambda row: row.workload,
    "metric": change_wording.metric_label,
}
"""The columns that say what a row is of."""

CHANGES: dict[str, Callable[[ComparedCell], str]] = {
    "change [low, high]": change_wording.change,
    "effect": change_wording.effect,
    "p": change_wording.p_value,
}


def compared(rows: Sequence[ComparedCell]) -> Grid:
    """The rows, as they are ordered, each with its verdict."""
    ends = [Text(row.verdict, STYLES.get(row.verdict, "")) for row in rows]
    return _grid(rows, ("A", "B"), "verdict", ends, [""] * len(rows))


def gated(cells: Sequence[GatedCell]) -> Grid:
    """The cells of a gate, each with its outcome, and below it why it is that."""
    ends = [Text(one.outcome, OUTCOME_STYLES.get(one.outcome, "")) for one in cells]
    reasons = [change_wording.reason(one.why) for one in cells]
    return _grid([one.row for one in cells], ("base", "new"), "outcome", ends, reasons)


def _grid(
    rows: Sequence[ComparedCell], sides: tuple[str, str], end: str, ends: Sequence[Text], below: Sequence[str]
) -> Grid:
    medians: dict[str, Callable[[ComparedCell], str]] = {
        f"{sides[0]} (n)": lambda row: change_wording.median(row, "a"),
        f"{sides[1]} (n)": lambda row: change_wording.median(row, "b"),
    }
    texts = {**PLACES, **medians, **CHANGES}
    columns = [GridColumn(name, name in {**medians, **CHANGES} and name != "effect", name in PLACES) for name in texts]
    return Grid(
        [*columns, GridColumn(end)],
        [
            GridRow([*(Text(text(row)) for text in texts.values()), last], why)
            for row, last, why in zip(rows, ends, below, strict=True)
        ],
    )
