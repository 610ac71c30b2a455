"""All of a report as files: tables as CSV and LaTeX, charts as SVG and PDF, and an index of them."""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import vl_convert

from tunbench.journal import files
from tunbench.report.charts.canvas import standalone
from tunbench.report.charts.figure import Figure
from tunbench.report.export.latex import latex, no_formula, spreadsheet
from tunbench.report.sections import SECTIONS, Medium, on_medium, tables_on
from tunbench.report.tables.table import Table
from tunbench.report.view import View

INDEX = "index.csv"

MAX_NAME_CHARACTERS = 120
"""Characters of a file's name before its ending."""


class Exported(NamedTuple):
    """A file that was written, and what it shows."""

    file: str
    kind: str
    shows: str


def write(view: View, folder: Path) -> list[Exported]:
    """Writes every table and chart to a folder, which is made. Raises OSError where that cannot be."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [one for table in tables_on(Medium.EXPORT, view) if table.rows for one in _table(table, folder)]
    taken: set[str] = set()
    for section in SECTIONS:
        for figure in on_medium(section.charts, Medium.EXPORT, view):
            written += _figure(figure, section.id, folder, taken)
    index = io.StringIO()
    writer = csv.writer(index)
    writer.writerow(Exported._fields)
    writer.writerows(map(no_formula, one) for one in written)
    files.write(folder / INDEX, index.getvalue())
    return written


def _table(table: Table, folder: Path) -> Iterator[Exported]:
    for ending, text in (("csv", spreadsheet(table)), ("tex", latex(table))):
        name = f"table-{table.id}.{ending}"
        files.write(folder / name, text)
        yield Exported(name, ending, table.caption)


def _figure(figure: Figure, section: str, folder: Path, taken: set[str]) -> Iterator[Exported]:
    for panel in figure.panels:
        shows = ", ".join(part for part in (figure.heading, figure.about, panel.heading) if part)
        name, svg = _unique(f"{section}-{shows}", taken), standalone(panel.draw())
        for ending, data in (("svg", svg), ("pdf", vl_convert.svg_to_pdf(svg))):
            files.write(folder / f"{name}.{ending}", data)
            yield Exported(f"{name}.{ending}", ending, shows)


def _unique(text: str, taken: set[str]) -> str:
    """The text as the name of a file that none has yet; nothing in it can lead elsewhere."""
    safe = re.sub(r"[^A-Za-z0-9=.+-]+", "-", text).strip(".-")[:MAX_NAME_CHARACTERS] or "chart"
    name = next(
        one for one in (safe, *(f"{safe}-{number}" for number in range(2, 100_000))) if one.lower() not in taken
    )
    taken.add(name.lower())
    return name
