"""Tables as a terminal shows them: names are broken into lines, numbers as little as there is room for."""

from collections.abc import Iterator
from itertools import groupby

from rich import box
from rich.console import RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from tunbench.report.palette import style_of
from tunbench.report.tables.table import PLACE_COLUMNS, Column, Table

_, PROFILE = PLACE_COLUMNS


def rendered(table: Table) -> Iterator[RenderableType]:
    """The table, below it how many rows are left out, and its notes."""
    if table.columns:
        yield _grid(table)
    if table.left_out:
        yield Text(f"… and {table.left_out} rows more; tunbench samples prints every value")
    yield from map(Text, table.notes)


def _grid(table: Table) -> RichTable:
    title = Text(table.caption) if table.caption else None
    made = RichTable(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for column in table.columns:
        _add_column(made, column)
    profile = table.columns.index(PROFILE)
    for _, rows in groupby(table.rows, key=lambda row: row.fields[profile].text):
        for row in rows:
            # Text, not markup: what stands in brackets is shown as it is.
            made.add_row(*(Text(one.text, style_of(one.text) if one.kind == "verdict" else "") for one in row.fields))
        made.add_section()
    return made


def _add_column(made: RichTable, column: Column) -> None:
    made.add_column(
        Text(column.heading),
        justify="right" if column.number else "left",
        overflow="ellipsis" if column.whole else "fold",
        min_width=column.least,
        no_wrap=column.whole,
    )
