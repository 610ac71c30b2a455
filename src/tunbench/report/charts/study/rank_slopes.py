"""The ranks of a study's systems, published beside measured: a slope chart for each condition of a table."""

from collections.abc import Sequence
from functools import partial

from tunbench.analysis.study.table_agreement import TIED, ComparedNumber, TableAgreement
from tunbench.report import units
from tunbench.report.charts.figure import Figure, Panel
from tunbench.report.charts.study import slope
from tunbench.report.charts.study.slope import Slope
from tunbench.report.view import View

READING = (
    "Ranks, the best on top: published on the left, measured on the right. A thin line is a rank that agrees, where "
    f"published values within {100 * TIED:.0f}\N{NO-BREAK SPACE}% of each other tie; a thick one rises, a thick dashed "
    "one falls."
)

MIN_SYSTEMS = 2
"""Systems that a chart needs."""

MAX_CHARTS_OF_A_TABLE, MAX_CHARTS_OF_A_STUDY = 8, 24
"""Charts that a page has room for, of one published table and of all together; each table has one at least."""


def figures(view: View) -> list[Figure]:
    """A figure for each published table that was compared, of every run."""
    runs = zip(view.identifiers("study"), view.reported, strict=True)
    return [one for name, run in runs if run.assessment for one in of_tables(run.assessment.tables, name)]


def least_agreeing(view: View) -> list[Figure]:
    """The same with as many charts as a page has room for: those that agree least."""
    runs = zip(view.identifiers("study"), view.reported, strict=True)
    return [one for name, run in runs if run.assessment for one in least_agreeing_of(run.assessment.tables, name)]


def of_tables(tables: Sequence[TableAgreement], identifier: str) -> list[Figure]:
    """A figure for each table with a condition to be drawn; `identifier` begins the names of all."""
    return [
        Figure(name, "published and measured ranks", table.name, READING, -1, some, unfolded=True)
        for number, table in enumerate(tables)
        if (some := panels(table, name := figure_id(identifier, number)))
    ]


def least_agreeing_of(tables: Sequence[TableAgreement], identifier: str) -> list[Figure]:
    """The figures of tables without charts that a page has no room for: those whose ranks agree best."""
    most = max(1, min(MAX_CHARTS_OF_A_TABLE, MAX_CHARTS_OF_A_STUDY // max(1, len(tables))))
    by_id = {figure_id(identifier, number): table for number, table in enumerate(tables)}
    return [_shortened(one, by_id[one.id], most) for one in of_tables(tables, identifier)]


def figure_id(identifier: str, number: int) -> str:
    """What the figure of a study's table is called, by the table's number."""
    return f"{identifier}-chart-{number}"


def _shortened(figure: Figure, table: TableAgreement, most: int) -> Figure:
    def tau(panel: Panel) -> float:
        found = table.conditions[panel.heading].tau
        return 1.0 if found is None else found

    kept = {panel.heading for panel in sorted(figure.panels, key=tau)[:most]}
    shown = [panel for panel in figure.panels if panel.heading in kept]
    left_out = len(figure.panels) - len(shown)
    more = f" Of {left_out} more conditions, which agree better, there is no chart." if left_out else ""
    return figure._replace(panels=shown, note=figure.note + more)


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
            row.ties,
        )
        for row in rows
        if row.published_rank is not None and row.measured_rank is not None and row.measured
    ]
    return sorted(found, key=lambda one: one.published_rank)
