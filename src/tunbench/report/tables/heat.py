"""What tables share that show at a glance who is ahead: how full a cell is, and what a dash stands for."""

from collections.abc import Sequence

from tunbench.analysis import missing_ratios
from tunbench.report import units
from tunbench.report.tables.table import Field
from tunbench.report.view import View

MAX_FIELDS = 50_000
"""Fields of a table whose columns are conditions or workloads: of more, most are empty."""


def heat(value: float, best: float, more: bool) -> float:
    """How full a cell is, from 0 to 1 for the best: value ÷ best, or best ÷ value where less is better."""
    over, under = (abs(value), best) if more else (best, abs(value))
    return 1.0 if over == under else min(1.0, over / under) if under else 0.0


def dashes(reasons: Sequence[tuple[str, str]]) -> str:
    """What a dash instead of a ratio stands for, as the end of a caption."""
    return (
        f" A dash is no ratio, because {'; '.join(missing_ratios.reasons_with_conditions(reasons))}." if reasons else ""
    )


def no_ratio(view: View, run: str, stack: str, condition: str, workload: str, metric: str) -> Field:
    """A dash instead of a ratio to `none`, with why there is none."""
    analysis = view.runs[view.labels.index(run)]
    why = missing_ratios.reason(analysis, stack, condition, workload, metric)
    return Field(units.NOTHING, kind="quiet", why=why)


def max_rows(columns: int) -> int:
    """Rows that a table of so many columns has at most."""
    return max(1, MAX_FIELDS // columns)


def shortened(rows: int) -> str:
    """That a table has no more rows, as the end of a caption."""
    return f" A table of so many columns has {rows} rows at most."
