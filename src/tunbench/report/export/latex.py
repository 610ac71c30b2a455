"""Tables for papers and spreadsheets: LaTeX with booktabs, and CSV in SI units."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tunbench.report import units
from tunbench.report.tables.table import Column, Field, Table

LONG = 40
"""Rows that fit on a page; a longer table is a `longtable`, which goes on on the next one."""

COLUMN = 56
"""Characters in footnote size that a column of a paper holds, which is 3.5 inches wide."""

WIDEST, NARROWEST, NUMBER = 20, 10, 18
"""Characters of a line of a name at most, of a line of a heading at least, and of a number with its interval."""

LEFT_OUT = ("unit",)
"""Columns for those who compute: here each number has its unit beside it, or in its heading."""

PIECES = re.compile(r"[^+:, ]*[+:, ]|[^+:, ]+")
"""What a line may be broken behind: the signs that join the words of a spelling, and spaces."""

FINER = re.compile(r"[^=.-]*[=.-]|[^=.-]+")
"""The same within a word that is longer than a line."""

NUMERIC = re.compile(rf"[★≈ ]*[{units.MINUS}\d]")

WITH_UNIT = re.compile(rf"((?:[★≈] )?[{units.MINUS}\d.]+){units.NBSP}([^\s\[]+)((?:\s.*)?)")
"""A number, its unit, and its interval or mark."""

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
    wide is parted: each part begins with the columns that say where a row is from. What is the same in all rows, such
    as the only profile, is a comment.
    """
    kind = "longtable" if len(table.rows) > LONG else "tabular"
    same = _same(table)
    left_out = {*LEFT_OUT, *same}
    kept = [at for at, column in enumerate(table.columns) if column.heading not in left_out]
    places = max(1, sum(_is_place(table, at) for at in kept))
    most = min(WIDEST, (COLUMN - NUMBER) // places - 1)
    columns = [_column(table, at, most) for at in kept]
    bodies = [_part(part, kind) for part in _parts(columns)]
    lines = [
        f"% {CONTROL.sub(' ', table.caption)}",
        *(f"% {heading}: {text}" for heading, text in same.items()),
        rf"% Needs \usepackage{{booktabs{',longtable' if kind == 'longtable' else ''}}}.",
        r"\begingroup\footnotesize\setlength{\tabcolsep}{3pt}%",
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
    """A column as a paper has it: its heading and fields in lines, whether they are numbers or say where a row is."""

    head: list[str]
    fields: list[list[str]]
    number: bool
    place: bool

    @property
    def characters(self) -> int:
        """Its width, with the space to the next one."""
        return max(len(line) for lines in (self.head, *self.fields) for line in lines) + 1


def _is_place(table: Table, at: int) -> bool:
    """Whether a column stands before all numbers, and says where a row is from."""
    return not any(one.number for one in table.columns[: at + 1])


def _column(table: Table, at: int, most: int) -> PaperColumn:
    column, place = table.columns[at], _is_place(table, at)
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
    fields = [_lines(text, most) if not column.number else [text] for text in texts]
    widest = max((len(line) for lines in fields for line in lines), default=0)
    return PaperColumn(_lines(heading, max(NARROWEST, widest)), fields, column.number, place)


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


def _parts(columns: Sequence[PaperColumn]) -> list[list[PaperColumn]]:
    """The columns in parts that are no wider than a column of a paper, each behind those that say where a row is."""
    places = [one for one in columns if one.place]
    parts: list[list[PaperColumn]] = []
    for column in (one for one in columns if not one.place):
        if not parts or sum(one.characters for one in (*parts[-1], column)) > COLUMN:
            parts.append([*places])
        parts[-1].append(column)
    return parts or [places]


def _part(columns: Sequence[PaperColumn], kind: str) -> str:
    spec = "".join("r" if column.number else "l" for column in columns)
    rows = [_row([_cell(lines, one.number) for lines, one in zip(row, columns, strict=True)]) for row in _rows(columns)]
    head = _row([_cell(column.head, column.number) for column in columns])
    repeated = [r"\endhead"] if kind == "longtable" else []
    body = [r"\toprule", head, r"\midrule", *repeated, *rows, r"\bottomrule"]
    return "\n".join([rf"\begin{{{kind}}}{{{spec}}}", *body, rf"\end{{{kind}}}"])


def _rows(columns: Sequence[PaperColumn]) -> Iterable[tuple[list[str], ...]]:
    return zip(*(column.fields for column in columns), strict=True)


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
        return repr(field.key)
    # A verdict stands where there is no number.
    return "" if field.text == units.NOTHING else no_formula(field.text)


def no_formula(text: str) -> str:
    """A text that no spreadsheet takes for a formula: OWASP, CSV Injection."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
