"""The cells of a comparison as a table for the terminal."""

from collections.abc import Sequence
from typing import Literal

from rich import box
from rich.table import Table
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
from tunbench.report import change_wording

MAX_ROWS = 25
"""Rows that are shown at most, unless all are asked for."""

STYLES = {
    **dict.fromkeys((FAILED_B, WORSE, ONLY_A), "bold red"),
    **dict.fromkeys((BETTER, FAILED_A), "green"),
    DIFFERENT: "yellow",
    IDENTICAL: "dim",
}
"""How the terminal shows a verdict; those that are not here have no style."""

WIDE_TERMINAL = 120
"""Characters from which on a terminal has room for every column."""

LEFT_OUT_OF_NARROW = ("A (n)", "B (n)", "effect")
"""The columns that a narrower one goes without."""

NUMBER_COLUMNS = ("A (n)", "B (n)", "change [low, high]", "p")
"""The columns that are aligned to the right."""


def table(rows: Sequence[ComparedCell], width: int = WIDE_TERMINAL) -> Table:
    """The rows for a terminal of so many characters, as they are ordered; a narrow one leaves columns out."""
    columns = {
        "stack": lambda row: row.stack,
        "condition": lambda row: row.condition,
        "workload": lambda row: row.workload,
        "metric": change_wording.metric_label,
        "A (n)": lambda row: change_wording.median(row, "a"),
        "B (n)": lambda row: change_wording.median(row, "b"),
        "change [low, high]": change_wording.change,
        "effect": change_wording.effect,
        "p": change_wording.p_value,
    }
    left_out = LEFT_OUT_OF_NARROW if width < WIDE_TERMINAL else ()
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    shown = {name: text for name, text in columns.items() if name not in left_out}
    # Text, not markup: what stands in brackets is shown as it is.
    for name in shown:
        justify: Literal["right", "left"] = "right" if name in NUMBER_COLUMNS else "left"
        made.add_column(Text(name), overflow="fold", justify=justify, no_wrap=name == "p")
    made.add_column("verdict")
    for row in rows:
        texts = [Text(text(row)) for text in shown.values()]
        made.add_row(*texts, Text(row.verdict, style=STYLES.get(row.verdict, "")))
    return made
