"""Tables for papers and spreadsheets: LaTeX with booktabs, and CSV in SI units."""

import csv
import io
import re
from collections.abc import Sequence
from typing import NamedTuple

from tunbench.report import units
from tunbench.report.export.intervals import WITH_UNIT, together
from tunbench.report.tables.table import Column, Field, Table

LONG = 40
"""Lines of rows that a column of a page holds; what is longer is parted, since no `longtable` stands in two columns."""

COLUMN = 56
"""Characters in footnote size that a column of a paper holds, which is 3.5 inches wide."""

WIDEST, NARROWEST, NUMBER = 20, 11, 18
"""Characters of a line of a name at most, of a line of a heading at least, and of a number with its interval."""

MOST_PLACES = 4
"""Columns that a part begins with at most: stack, condition, workload and metric say whose a number is."""

MOST_WHOLE = 2**53
"""Up to which a number tells each whole one from the next (IEEE 754 binary64)."""

LEFT_OUT = ("unit",)
"""Columns for those who compute: here each number has its unit beside it, or in its heading."""

PIECES = re.compile(r"[^+:, ]*[+:, ]|[^+:, ]+")
"""What a line may be broken behind: the signs that join the words of a spelling, and spaces."""

FINER = re.compile(r"[^=.-]*[=.-]|[^=.-]+")
"""The same within a word that is longer than a line."""

NUMERIC = re.compile(rf"[★≈ ]*[{units.MINUS}\d]")

CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]+")

SPECIAL = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "{}$&#%_"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    units.NBSP: "~",
    "\N{NARROW NO-BREAK SPACE}": r"\,",
    units.MINUS: "$-$",
    units.NOTHING: "--",
    units.INFINITE: r"$\infty$",
    "\N{DIVISION SIGN}": r"$\div$",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "\N{RIGHTWARDS ARROW}": r"$\rightarrow$",
    "\N{MICRO SIGN}": r"\textmu{}",
    "\N{DEGREE SIGN}": r"\textdegree{}",
    "\N{MIDDLE DOT}": r"\textperiodcentered{}",
    "\N{RIGHT SINGLE QUOTATION MARK}": "'",
    "\N{HORIZONTAL ELLIPSIS}": r"\ldots{}",
}
"""What stands for signs that LaTeX takes for its own, or that its usual fonts lack."""


def escaped(text: str) -> str:
    """A text as LaTeX shows it. Line breaks and control characters become spaces; other signs stay as UTF-8."""
    plain = CONTROL.sub(" ", text)
    return "".join(SPECIAL.get(sign, sign) for sign in plain)


def latex(table: Table) -> str:
    r"""The table as a fragment for `\input`, no wider than a column of a paper; its caption is a comment.

    Numbers stand right, as people read them, and a unit that all of a column have stands in its heading. What is too
    wide is parted: each part begins with the columns that say where a row is from. What is too long is parted as well,
    each part with the headings. What is the same in all rows, such as the only profile, is a comment.
    """
    table = together(table)
    same = _same(table)
    left_out = {*LEFT_OUT, *same}
    kept = [at for at, column in enumerate(table.columns) if column.heading not in left_out]
    leading = [at for at in kept if not any(one.number for one in table.columns[: at + 1])][:MOST_PLACES]
    most = min(WIDEST, (COLUMN - NUMBER) // max(1, len(leading)) - 1)
    places = [_column(table, at, most) for at in leading]
    room = COLUMN - sum(one.characters for one in places) - 1
    others = [_column(table, at, min(WIDEST, room), room) for at in kept if at not in leading]
    bodies = [_tabular(part, rows) for part in _parts(places, others) for rows in _pages(part)]
    lines = [
        f"% {CONTROL.sub(' ', table.caption)}",
        *(f"% {heading}: {text}" for heading, text in same.items()),
        r"% Needs \usepackage{booktabs}.",
        r"\begingroup\footnotesize\setlength{\tabcolsep}{3pt}\setlength{\parindent}{0pt}%",
        "\n\\par\\medskip\n".join(bodies),
        r"\endgroup",
    ]
    return "\n".join(lines) + "\n"


def _same(table: Table) -> dict[str, str]:
    """The columns behind the first that say where a row is from, and say the same of all rows, by their headings."""
    found = {}
    for at, column in enumerate(table.columns[1:], 1):
        texts = {row.fields[at].text for row in table.rows}
        if column.number:
            break
        if len(texts) == 1 and len(table.rows) > 1:
            found[CONTROL.sub(" ", column.heading)] = CONTROL.sub(" ", texts.pop())
    return found


class PaperColumn(NamedTuple):
    """A column as a paper has it: its heading and fields in lines, and whether they are numbers."""

    head: list[str]
    fields: list[list[str]]
    number: bool

    @property
    def characters(self) -> int:
        """Its width, with the space to the next one."""
        return max(len(line) for lines in (self.head, *self.fields) for line in lines) + 1


def _column(table: Table, at: int, most: int, room: int = COLUMN) -> PaperColumn:
    """A column whose names have `most` characters a line, and whose numbers have `room` for themselves."""
    column = table.columns[at]
    texts = [CONTROL.sub(" ", row.fields[at].text) for row in table.rows]
    heading = CONTROL.sub(" ", column.heading)
    if column.number:
        found = [WITH_UNIT.fullmatch(text) for text in texts]
        units_there = {match[2] for match in found if match}
        # What has no unit is a verdict, or a sign for nothing.
        alone = [text for match, text in zip(found, texts, strict=True) if not match]
        if len(units_there) == 1 and not any(map(NUMERIC.match, alone)):
            texts = [match[1] + match[3] if match else text for match, text in zip(found, texts, strict=True)]
            heading = f"{heading} ({units_there.pop()})"
    below = any(len(text) > room for text in texts)
    fields = [_lines(text, most) if not column.number else _number(text, below, room) for text in texts]
    widest = max((len(line) for lines in fields for line in lines), default=0)
    return PaperColumn(_lines(heading, max(NARROWEST, widest)), fields, column.number)


def _number(text: str, below: bool, room: int) -> list[str]:
    """A number with its interval behind it, or below it where there is no room, and its bounds below each other."""
    number, bracket, interval = text.partition(" [")
    return [number, *_lines(f"[{interval}", room)] if below and bracket else [text]


def _lines(text: str, most: int) -> list[str]:
    """The text in lines that are broken behind what joins the words of a name, as long as fit."""
    if len(text) <= most:
        return [text]
    lines = [""]
    pieces = [one for whole in PIECES.findall(text) for one in (FINER.findall(whole) if len(whole) > most else [whole])]
    for piece in pieces:
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > most:
            lines.append("")
        lines[-1] += piece
    return [line.strip() for line in lines]


def _parts(places: list[PaperColumn], others: Sequence[PaperColumn]) -> list[list[PaperColumn]]:
    """The columns in parts that are no wider than a column of a paper, each behind those that say where a row is."""
    parts: list[list[PaperColumn]] = []
    for column in others:
        if not parts or sum(one.characters for one in (*parts[-1], column)) > COLUMN:
            parts.append([*places])
        parts[-1].append(column)
    return parts or [places]


PaperRow = tuple[list[str], ...]
"""The fields of a row, each in its lines."""


def _pages(columns: Sequence[PaperColumn]) -> list[list[PaperRow]]:
    """The rows in parts that are no longer than a page."""
    pages: list[list[PaperRow]] = [[]]
    for row in zip(*(column.fields for column in columns), strict=True):
        if pages[-1] and sum(map(_height, (*pages[-1], row))) > LONG:
            pages.append([])
        pages[-1].append(row)
    return pages


def _height(row: PaperRow) -> int:
    return max(map(len, row))


def _tabular(columns: Sequence[PaperColumn], rows: Sequence[PaperRow]) -> str:
    spec = "".join("r" if column.number else "l" for column in columns)
    head = _row([_cell(column.head, column.number) for column in columns])
    body = [_row([_cell(lines, one.number) for lines, one in zip(row, columns, strict=True)]) for row in rows]
    return "\n".join(
        [rf"\begin{{tabular}}{{{spec}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
    )


def _cell(lines: Sequence[str], number: bool) -> str:
    if len(lines) == 1:
        return escaped(lines[0])
    # What begins with a bracket behind a line's end would be taken for its argument.
    safe = ["{}" * line.startswith(("[", "*")) + escaped(line) for line in lines]
    body = r"\\".join(safe)
    return rf"\shortstack[{'r' if number else 'l'}]{{{body}}}"


def _row(texts: Sequence[str]) -> str:
    r"""A row of a table. The `\\` before it would take a `[` or `*` at its beginning for an argument of its own."""
    row = " & ".join(texts) + r" \\"
    return f"{{}}{row}" if row.lstrip().startswith(("[", "*")) else row


def spreadsheet(table: Table) -> str:
    """The table as CSV (RFC 4180): numbers in full and in SI units, which headings name; empty where there is none."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(_heading(column) for column in table.columns)
    for row in table.rows:
        writer.writerow(_plain(column, field) for column, field in zip(table.columns, row.fields, strict=True))
    return out.getvalue()


def _heading(column: Column) -> str:
    return f"{column.heading} ({column.unit})" if column.unit else column.heading


def _plain(column: Column, field: Field) -> str:
    if not column.number:
        return no_formula(field.text)
    if field.key is not None:
        return _in_full(field.key)
    # A verdict stands where there is no number.
    return "" if field.text == units.NOTHING else no_formula(field.text)


def _in_full(value: float) -> str:
    """The number with all its digits, and a whole one as such: 12, not 12.0."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) <= MOST_WHOLE
    return repr(int(value) if whole else value)


def no_formula(text: str) -> str:
    """A text that no spreadsheet takes for a formula: OWASP, CSV Injection."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
