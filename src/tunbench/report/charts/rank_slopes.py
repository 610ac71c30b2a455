"""The ranks of a study's systems, published beside measured: a slope chart for each condition of a table."""

from collections.abc import Sequence
from functools import partial

from tunbench.analysis.study.table_agreement import ComparedNumber, TableAgreement
from tunbench.report import units
from tunbench.report.charts import slope
from tunbench.report.charts.figure import Figure, Panel
from tunbench.report.charts.slope import Slope
from tunbench.report.view import View

MIN_SYSTEMS = 2
"""Systems that a chart needs."""


def figures(view: View) -> list[Figure]:
    """A figure for each published table that was compared, of every run."""
    tables = [table for run in view.reported if run.assessment for table in run.assessment.tables]
    return [
        Figure(f"ranks-{number}", "published and measured ranks", table.name, "", -1, some, unfolded=True)
        for number, table in enumerate(tables)
        if (some := panels(table, f"ranks-{number}"))
    ]


def panels(table: TableAgreement, identifier: str) -> list[Panel]:
    """A chart for each condition that has enough systems; `identifier` begins the names of all."""
    found = []
    for index, condition in enumerate(table.conditions):
        rows = [row for row in table.rows if row.published.condition == condition]
        some = slopes(rows)
        if len(some) >= MIN_SYSTEMS:
            heading = f"Published and measured ranks, {table.name}, {condition}"
            cells = [row.found.cell for row in rows if row.found and row.measured]
            found.append(Panel(condition, -1, partial(slope.draw, some, f"{identifier}-{index}", heading), cells))
    return found


def slopes(rows: Sequence[ComparedNumber]) -> list[Slope]:
    """The systems of one condition that have both numbers, in the order of their published ranks."""
    found = [
        Slope(
            row.published.system,
            row.published_rank,
            row.measured_rank,
            units.quantity(row.published.value, row.published.unit),
            units.quantity(row.measured.median, row.published.unit),
        )
        for row in rows
        if row.published_rank is not None and row.measured_rank is not None and row.measured
    ]
    return sorted(found, key=lambda one: one.published_rank)
