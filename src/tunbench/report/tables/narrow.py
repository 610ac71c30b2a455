"""Which cells became narrow enough, of a plan that asked for repeats until they are."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tunbench.analysis.cells import WHOLE
from tunbench.analysis.order import condition_of
from tunbench.analysis.run_analysis import RunAnalysis
from tunbench.plan.until import Until
from tunbench.report import units
from tunbench.report.tables.table import Column, Field, Table, TableRow, filter_numbers
from tunbench.report.view import View

MAX_NAMED_CELLS = 20
"""Cells that the terminal names; of more, it says how many."""


class NarrowCell(NamedTuple):
    """A cell and metric that counted: the median of n trials, the relative width of its interval, and the answer."""

    stack: str
    condition: str
    workload: str
    metric: str
    n: Field
    median: Field
    width: Field
    enough: bool


def cells(analysis: RunAnalysis) -> list[NarrowCell]:
    """Every cell and metric that counted, the widest first; none where the plan did not ask for a width."""
    if analysis.widths is None:
        return []
    found = analysis.widths.sort("width", descending=True, nulls_last=False, maintain_order=True)
    several = found.select("pair", "node").n_unique() > 1
    return [_cell(row, analysis.conditions[condition_of(row)], several) for row in found.to_dicts()]


def table(view: View, number: int, identifier: str = "narrow-cells") -> Table:
    """The cells of one run of a report."""
    columns = (
        *(Column("stack"), Column("profile"), Column("workload"), Column("metric")),
        *(Column("n", True), Column("median", True), Column("width", True), Column("narrow enough")),
    )
    caption = (
        "One row a cell and metric that counted, the widest first: the interval of the median over n trials, relative "
        "to the median."
    )
    return Table(identifier, caption, columns, [_row(view, number, cell) for cell in cells(view.runs[number])])


def tables(view: View) -> list[Table]:
    """The cells of each run whose plan asked for a width."""
    return [
        table(view, number, f"{identifier}-cells")
        for number, identifier in enumerate(view.identifiers("narrow"))
        if view.runs[number].until
    ]


def summary(view: View) -> list[Table]:
    """How many cells were narrow enough, and the names of those that were not, as notes."""
    notes = [tuple(lines(analysis)) for analysis in view.runs]
    return [Table("narrow", "", (), [], notes=some) for some in notes if some]


def lines(analysis: RunAnalysis) -> list[str]:
    """How many cells were narrow enough, and the names of those that were not."""
    until = analysis.until
    if not until:
        return []
    found = cells(analysis)
    few, wide = (
        [cell for cell in found if not cell.enough and (cell.width.key is None) is without] for without in (True, False)
    )
    enough = len(found) - len(wide) - len(few)
    head = f"narrow enough: {enough} of {len(found)} cells and metrics ({goal_in_words(until)})"
    named = [
        f"not narrow enough after {cell.n.text}: {cell.stack}, {cell.condition}, {cell.workload}: "
        f"{cell.metric} {cell.width.text}"
        for cell in wide[:MAX_NAMED_CELLS]
    ]
    more = len(wide) - MAX_NAMED_CELLS
    without = [f"without an interval: {len(few)} of them, as after too few repeats"] if few else []
    return [head, *without, *named, *([f"… and {more} more, which the report names"] if more > 0 else [])]


def goal_in_words(until: Until) -> str:
    """What the plan asked for, in words."""
    width, confidence = (units.plain(value, "ratio") for value in (until.width, until.confidence))
    return f"at most {width} wide at {confidence}, {until.max} repeats at most"


def _cell(row: Mapping[str, Any], condition: str, several: bool) -> NarrowCell:
    statistic = "" if row["statistic"] == WHOLE else f" {row['statistic']}"
    where = f" ({row['pair']}, {row['node']})" if several else ""
    width = units.quantity(row["width"], "ratio") if row["width"] is not None else "no interval"
    return NarrowCell(
        row["stack"],
        condition,
        row["workload"],
        f"{row['metric']}{statistic}{where}",
        Field(str(row["n"]), row["n"]),
        Field(units.quantity(row["median"], row["unit"]), row["median"]),
        Field(width, row["width"]),
        row["enough"],
    )


def _row(view: View, number: int, cell: NarrowCell) -> TableRow:
    fields = (
        *(Field(cell.stack, kind="stack"), Field(cell.condition), Field(cell.workload, kind="stack workload")),
        *(Field(cell.metric), cell.n, cell.median, cell.width, Field("yes" if cell.enough else "no")),
    )
    return TableRow(fields, *filter_numbers(view, view.labels[number], cell.stack, cell.condition, cell.workload))
