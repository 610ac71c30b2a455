"""Tables for papers and spreadsheets: LaTeX with booktabs, and CSV in SI units."""

import csv
import io
import re
from collections.abc import Sequence

from tunbench.report import units
from tunbench.report.tables.table import Column, Field, Table

LONG = 40
"""Rows that fit on a page; a longer table is a `longtable`, which goes on on the next one."""

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
    r"""The table as a fragment for `\input`: numbers stand right, as people read them; its caption is a comment."""
    kind = "longtable" if len(table.rows) > LONG else "tabular"
    columns = "".join("r" if column.number else "l" for column in table.columns)
    head = _row([column.heading for column in table.columns])
    rows = [_row([field.text for field in row.fields]) for row in table.rows]
    repeated = [r"\endhead"] if kind == "longtable" else []
    lines = [
        f"% {CONTROL.sub(' ', table.caption)}",
        rf"% Needs \usepackage{{booktabs{',longtable' if kind == 'longtable' else ''}}}.",
        rf"\begin{{{kind}}}{{{columns}}}",
        r"\toprule",
        head,
        r"\midrule",
        *repeated,
        *rows,
        r"\bottomrule",
        rf"\end{{{kind}}}",
    ]
    return "\n".join(lines) + "\n"


def _row(texts: Sequence[str]) -> str:
    r"""A row of a table. The `\\` before it would take a `[` or `*` at its beginning for an argument of its own."""
    row = " & ".join(map(escaped, texts)) + r" \\"
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
