"""Tables of a report as a terminal shows them."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from tunbench.report.palette import style_of
from tunbench.report.tables.table import PLACE_COLUMNS, Table
from tunbench.report.terminal.grid import Grid, GridColumn, GridRow

_, PROFILE = PLACE_COLUMNS


def rendered(table: Table) -> Iterator[RenderableType]:
    """The table, below it how many rows are left out, and its notes."""
    if table.columns:
        yield _grid(table)
    if table.left_out:
        yield Text(f"… and {table.left_out} rows more; tunbench samples prints every value")
    yield from map(Text, table.notes)


def _grid(table: Table) -> Grid:
    columns = [GridColumn(column.heading, column.number, column in PLACE_COLUMNS) for column in table.columns]
    profile = table.columns.index(PROFILE)
    rows, before = [], None
    for row in table.rows:
        # Text, not markup: what stands in brackets is shown as it is.
        fields = [Text(one.text, style_of(one.text) if one.kind == "verdict" else "") for one in row.fields]
        rows.append(GridRow(fields, section=row.fields[profile].text != before))
        before = row.fields[profile].text
    return Grid(columns, rows, table.caption)
