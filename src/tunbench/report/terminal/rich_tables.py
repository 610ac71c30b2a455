"""Tables of a report as a terminal shows them; one that is wider than the terminal is parted behind its names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from tunbench.report.palette import style_of
from tunbench.report.tables.table import BEST, FEW, PLACE_COLUMNS, TIED, Column, Field, Table, TableRow
from tunbench.report.terminal.grid import Grid, GridColumn, GridRow

_, PROFILE = PLACE_COLUMNS

MARKS = {BEST: "★", TIED: "≈"}
"""What stands before a value that is the best, or not told from it."""

MAX_ROWS = 1000
"""Rows of a table at most."""

STYLES = {BEST: "bold", FEW: "dim"}
"""How fields of a kind are shown."""

VERDICTS = ("verdict", "ok", "failed", "unsupported")
"""Kinds of fields that hold a verdict."""


@dataclass(frozen=True)
class Parted:
    """A table in as many parts as the width of a terminal asks for: its names begin each."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The parts, with an empty line between them."""
        names = _names(self.table.columns)
        parts = [names]
        for place in range(len(names), len(self.table.columns)):
            with_it = [*parts[-1], place]
            fits = _grid(self.table, with_it).fits(options.max_width)
            parts = [*parts[:-1], with_it] if fits or parts[-1] == names else [*parts, [*names, place]]
        for number, part in enumerate(parts):
            if number:
                yield Text()
            yield _grid(self.table, part)


def rendered(table: Table) -> Iterator[RenderableType]:
    """The table, below it how many rows are left out, and its notes."""
    if table.columns and table.rows:
        yield Parted(table._replace(rows=table.rows[:MAX_ROWS]))
    if left_out := table.left_out + max(0, len(table.rows) - MAX_ROWS):
        yield Text(f"… and {left_out} rows more; tunbench samples prints every value")
    if table.caption and table.rows:
        yield Text(table.caption, style="dim")
    yield from map(Text, table.notes)


def _names(columns: Sequence[Column]) -> list[int]:
    """The columns before the first one of numbers, where a row is from; the first at least."""
    first = next((place for place, column in enumerate(columns) if column.number), 1)
    return list(range(max(1, first)))


def _grid(table: Table, places: Sequence[int]) -> Grid:
    columns = [
        GridColumn(table.columns[one].heading, table.columns[one].number, one in _names(table.columns))
        for one in places
    ]
    profile = table.columns.index(PROFILE) if PROFILE in table.columns else None
    profiles = [row.fields[profile].text if profile is not None else "" for row in table.rows]
    rows = [
        GridRow(
            [_text(row, place) for place in places], section=number > 0 and profiles[number] != profiles[number - 1]
        )
        for number, row in enumerate(table.rows)
    ]
    return Grid(columns, rows)


def _text(row: TableRow, place: int) -> Text:
    """Text, not markup: what stands in brackets is shown as it is."""
    field = row.fields[place]
    return Text(_marked(field), style_of(field.text) if field.kind in VERDICTS else STYLES.get(field.kind, ""))


def _marked(field: Field) -> str:
    return f"{MARKS[field.kind]} {field.text}" if field.kind in MARKS else field.text
