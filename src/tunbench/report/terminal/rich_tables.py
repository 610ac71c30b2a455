"""Tables as a terminal shows them: names are broken between their words, numbers stay whole, wide tables are parted."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from tunbench.report.palette import style_of
from tunbench.report.tables.table import BEST, FEW, PLACE_COLUMNS, TIED, Column, Field, Table

_, PROFILE = PLACE_COLUMNS

MARKS = {BEST: "★", TIED: "≈"}
"""What stands before a value that is the best, or not told from it."""

MAX_ROWS = 1000
"""Rows of a table at most."""

LONGEST = 24
"""Characters that a column of names takes at most, where there is no room for all."""

STYLES = {BEST: "bold", FEW: "dim"}
"""How fields of a kind are shown."""

VERDICTS = ("verdict", "ok", "failed", "unsupported")
"""Kinds of fields that hold a verdict."""

GAP = 2
"""Characters between two columns."""

JOINT = re.compile(r"(?<=[:,+=/ ·])")
"""Where a name may be broken."""


class Parted(NamedTuple):
    """A table that is parted where it is wider than the terminal: its names begin each part.

    Where it is too wide, each interval stands below its value, and names of more than LONGEST characters are broken.
    """

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The parts, each as wide as the terminal at most."""
        whole = [_width(self.table, place, whole=True) for place in range(len(self.table.columns))]
        if sum(whole) + GAP * len(whole) <= options.max_width:
            yield _grid(self.table, range(len(whole)), whole)
            return
        widths = [_width(self.table, place) for place in range(len(whole))]
        names = _names(self.table.columns)
        bound = sum(widths[place] + GAP for place in names)
        parts: list[list[int]] = [[]]
        for place in range(len(names), len(widths)):
            if parts[-1] and bound + sum(widths[one] + GAP for one in [*parts[-1], place]) > options.max_width:
                parts.append([])
            parts[-1].append(place)
        for part in parts:
            yield _grid(self.table, [*names, *part], widths)


def rendered(table: Table) -> Iterator[RenderableType]:
    """The table, below it how many rows are left out, and its notes."""
    if table.columns and table.rows:
        yield Parted(table._replace(rows=table.rows[:MAX_ROWS]))
    if left_out := table.left_out + max(0, len(table.rows) - MAX_ROWS):
        yield Text(f"… and {left_out} rows more; tunbench samples prints every value")
    if table.caption and table.rows:
        yield Text(table.caption, style="dim")
    yield from map(Text, table.notes)


def _grid(table: Table, places: Sequence[int], widths: Sequence[int]) -> RichTable:
    made = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for place in places:
        _add_column(made, table.columns[place], widths[place])
    profile = table.columns.index(PROFILE) if PROFILE in table.columns else None
    for _, rows in groupby(table.rows, key=lambda row: row.fields[profile].text if profile is not None else ""):
        for row in rows:
            made.add_row(*(_text(row.fields[place], table.columns[place], widths[place]) for place in places))
        made.add_section()
    return made


def _add_column(made: RichTable, column: Column, width: int) -> None:
    made.add_column(
        Text(_broken(column.heading, width)),
        justify="right" if column.number else "left",
        overflow="fold",
        min_width=min(width, len(column.heading)) if column.number else None,
        max_width=width,
    )


def _names(columns: Sequence[Column]) -> list[int]:
    """The columns before the first one of numbers, where a row is from; the first at least."""
    first = next((place for place, column in enumerate(columns) if column.number), 1)
    return list(range(max(1, first)))


def _text(field: Field, column: Column, width: int) -> Text:
    """Text, not markup: what stands in brackets is shown as it is."""
    shown = _marked(field)
    if not column.number:
        return Text(_broken(shown, width), style_of(field.text) if field.kind in VERDICTS else "")
    return Text(shown if len(shown) <= width else "\n".join(_pieces(shown)), STYLES.get(field.kind, ""))


def _marked(field: Field) -> str:
    return f"{MARKS[field.kind]} {field.text}" if field.kind in MARKS else field.text


def _pieces(text: str) -> list[str]:
    """A value and what surrounds it, which stand below each other where there is no room."""
    value, opening, around = text.partition(" [")
    return [value, f"[{around}"] if opening else [value]


def _width(table: Table, place: int, whole: bool = False) -> int:
    """The characters that a column takes: all of its texts whole, or what must not be broken."""
    column = table.columns[place]
    texts = [_marked(row.fields[place]) for row in table.rows]
    if whole:
        return max(map(len, [*([] if column.number else [column.heading]), *texts, *JOINT.split(column.heading)]))
    if not column.number:
        return min(LONGEST, max(map(len, [column.heading, *texts])))
    pieces = [piece for text in texts for piece in _pieces(text)]
    return max(map(len, [*pieces, *JOINT.split(column.heading)]))


def _broken(text: str, width: int) -> str:
    """A text in lines of so many characters, broken where a name may be."""
    lines = [""]
    for part in JOINT.split(text):
        if lines[-1] and len(lines[-1] + part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.strip() for line in lines)
