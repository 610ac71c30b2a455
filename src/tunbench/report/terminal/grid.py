"""Rows under headings for a terminal of any width: nothing is dropped, and no word, name or number is broken within.

Where all fits, a row is a line. On a narrower terminal texts are broken at their seams, and where that is too wide as
well, each row is a paragraph: its first fields are a line, and the others follow it with their headings.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

GAP = 2
"""Spaces between columns."""

SHORTEST = 16
"""Characters that a short column keeps."""

HANG = 2
"""Spaces before what goes on of a row's first field, so that it is not taken for the next row."""

SEAMS = re.compile(r"(?<=[ ,+:/;|])")
"""Where a name or sentence may be broken: behind a space or what joins the words of a spelling."""

NUMBER_SEAMS = re.compile(r"(?<= )(?=[\[(])")
"""Where a number may be broken: before its interval or count."""


class GridColumn(NamedTuple):
    """A column: its heading, whether it holds numbers, and whether it says what a row is of.

    A `short` one takes one line: its texts end behind a word where the terminal does.
    """

    heading: str
    number: bool = False
    place: bool = False
    short: bool = False


class GridRow(NamedTuple):
    """The fields of a row, what is said below it over the whole width, and whether a new section begins with it."""

    fields: Sequence[Text]
    below: str = ""
    section: bool = False


def rows_of(texts: Iterable[Sequence[str | Text]]) -> list[GridRow]:
    """Rows of fields alone. What is no text with a style is shown as it is, and not as markup."""
    return [GridRow([one if isinstance(one, Text) else Text(one) for one in fields]) for fields in texts]


@dataclass(frozen=True)
class Grid:
    """A table; `title` stands above it, and lines between its rows where `lines` asks for them."""

    columns: Sequence[GridColumn]
    rows: Sequence[GridRow]
    title: str = ""
    lines: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """What a terminal of the console's width shows."""
        yield from self.shown(options.max_width)

    def fits(self, width: int) -> bool:
        """Whether each row can be in one piece on a terminal of so many characters."""
        return bool(_widths(self.columns, self.rows, width))

    def shown(self, width: int) -> Iterator[Text]:
        """The lines for a terminal of so many characters."""
        if self.title:
            yield from _below(self.title, width, 0, "bold")
        widths = _widths(self.columns, self.rows, width)
        yield from _table(self, widths, width) if widths else _paragraphs(self, width)


def _widths(columns: Sequence[GridColumn], rows: Sequence[GridRow], width: int) -> list[int]:
    """The characters of each column; empty where the rows do not fit even if they are broken at every seam."""
    texts = [[column.heading, *(row.fields[at].plain for row in rows)] for at, column in enumerate(columns)]
    whole = [max(_longest(line) for text in column for line in text.split("\n")) for column in texts]
    least = [
        SHORTEST
        if column.short
        else max((_longest(piece) for text in texts[at] for piece in _pieces(text, column.number)), default=0)
        + (HANG if not at else 0)
        for at, column in enumerate(columns)
    ]
    widths = [min(pair) for pair in zip(least, whole, strict=True)]
    spare = width - sum(widths) - GAP * (len(columns) - 1)
    if spare < 0:
        return []
    # Each takes an equal part of what is left, and those that need less than that leave the rest to the others.
    wanting = sorted(range(len(columns)), key=lambda at: whole[at] - widths[at])
    for number, at in enumerate(wanting):
        more = min(spare // (len(wanting) - number), whole[at] - widths[at])
        widths[at] += more
        spare -= more
    return widths


def _longest(text: str) -> int:
    return cell_len(text.rstrip(" "))


def _table(grid: Grid, widths: Sequence[int], width: int) -> Iterator[Text]:
    heads = [Text(column.heading, "bold") for column in grid.columns]
    yield from _row(heads, grid.columns, widths)
    rule = Text("─" * min(width, sum(widths) + GAP * (len(widths) - 1)), "dim")
    yield rule
    for number, row in enumerate(grid.rows):
        if number and (row.section or grid.lines):
            yield Text() if grid.lines else rule
        yield from _row(row.fields, grid.columns, widths)
        yield from _below(row.below, width)


def _row(fields: Sequence[Text], columns: Sequence[GridColumn], widths: Sequence[int]) -> Iterator[Text]:
    broken = [
        [_shortened(field, width)] if column.short else _broken(field, width, column.number, 0 if at else HANG)
        for at, (field, column, width) in enumerate(zip(fields, columns, widths, strict=True))
    ]
    for number in range(max(map(len, broken), default=0)):
        line = Text()
        for lines, column, width in zip(broken, columns, widths, strict=True):
            part = lines[number] if number < len(lines) else Text()
            part.align("right" if column.number else "left", width)
            line.append_text(part).append(" " * GAP)
        line.rstrip()
        yield line


def _shortened(text: Text, width: int) -> Text:
    return Text(shorten(text.plain, width, placeholder=" …"), text.style)


def _paragraphs(grid: Grid, width: int) -> Iterator[Text]:
    """Each row as a paragraph: what it is of on its first line, and behind it the other fields with their headings."""
    places = [at for at, column in enumerate(grid.columns) if column.place] or [0]
    for number, row in enumerate(grid.rows):
        if number:
            yield Text()
        head = Text("  ").join(row.fields[at] for at in places if row.fields[at].plain)
        yield from _broken(head, width, False, HANG)
        yield from _pairs(grid.columns, row, places, width)
        yield from _below(row.below, width)


def _pairs(columns: Sequence[GridColumn], row: GridRow, places: Sequence[int], width: int) -> Iterator[Text]:
    """The fields of a row that are no places, each behind its heading; a line is broken between them if it can be."""
    line = Text()
    for at, column in enumerate(columns):
        field = row.fields[at]
        if at in places or not field.plain:
            continue
        pair = Text(" ".join(column.heading.split()), "dim").append(" ").append_text(_in_one_line(field))
        if line and HANG + line.cell_len + GAP + pair.cell_len > width:
            yield from _indented(line, width)
            line = Text()
        line = line.append(" " * GAP).append_text(pair) if line else pair
    if line:
        yield from _indented(line, width)


def _in_one_line(field: Text) -> Text:
    return Text(", ").join(field.split("\n")) if "\n" in field.plain else field


def _indented(line: Text, width: int) -> Iterator[Text]:
    for part in _broken(line, width - HANG, False, HANG):
        yield Text(" " * HANG).append_text(part)


def _below(text: str, width: int, indent: int = HANG, style: str = "dim") -> Iterator[Text]:
    if text:
        for part in _broken(Text(text, style), width - indent, False):
            yield Text(" " * indent).append_text(part)


def _broken(text: Text, width: int, number: bool, hang: int = 0) -> list[Text]:
    """The text in lines of so many characters; those behind the first are indented by `hang`.

    What has no seam, and is longer than that, is cut into pieces: else a terminal would do it.
    """
    lines: list[Text] = []
    for given in text.split("\n", allow_blank=True):
        line = Text()
        for piece in _styled_pieces(given, number, max(1, width - hang)):
            if line.plain.strip() and _longest(line.plain + piece.plain) > width:
                line.rstrip()
                lines.append(line)
                line = Text(" " * hang)
            line.append_text(piece)
        line.rstrip()
        lines.append(line)
    return lines


def _styled_pieces(text: Text, number: bool, most: int) -> Iterator[Text]:
    at = 0
    for piece in _pieces(text.plain, number):
        for start in range(0, len(piece), most if _longest(piece) > most else max(1, len(piece))):
            end = min(len(piece), start + most) if _longest(piece) > most else len(piece)
            yield text[at + start : at + end]
        at += len(piece)


def _pieces(text: str, number: bool) -> list[str]:
    """The parts of a text that are not broken; a line feed parts them as well."""
    seams = NUMBER_SEAMS if number else SEAMS
    return [piece for line in text.split("\n") for piece in seams.split(line) if piece]
