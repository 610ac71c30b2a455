"""All of a report as files: tables as CSV and LaTeX, charts as SVG and PDF, and an index of them."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import vl_convert

from tunbench.analysis.study.assessment import Assessment
from tunbench.journal import files
from tunbench.report.charts import canvas, figures, lines
from tunbench.report.export import study_files
from tunbench.report.export.latex import latex, no_formula, spreadsheet
from tunbench.report.tables import heat_tables, tables
from tunbench.report.tables.tables import Table
from tunbench.report.view import View
from tunbench.runner.declare.metrics import Question

INDEX = "index.csv"

LONGEST = 120
"""Characters of a file's name before its ending."""


class Exported(NamedTuple):
    """A file that was written, and what it shows."""

    file: str
    kind: str
    shows: str


def write(view: View, folder: Path) -> list[Exported]:
    """Writes every table and chart to a folder, which is made. Raises OSError where that cannot be."""
    study = None if view.several else view.reported[0].assessment
    folder.mkdir(parents=True, exist_ok=True)
    taken: set[str] = set()
    written = [*_tables(all_tables(view), folder), *_charts(view, folder, taken)]
    if study:
        written += [*_tables(study_files.all_tables(study), folder), *_ranks(study, folder, taken)]
    index = io.StringIO()
    writer = csv.writer(index)
    writer.writerow(Exported._fields)
    writer.writerows(map(no_formula, one) for one in written)
    files.write(folder / INDEX, index.getvalue())
    return written


def all_tables(view: View) -> list[Table]:
    """Every table of a report, with all its rows; those that are empty are left out."""
    found = [
        heat_tables.headline(view),
        heat_tables.relative(view, "throughput"),
        heat_tables.relative(view, "rtt"),
        tables.costs(view),
        heat_tables.by_metric(view, Question.RECOVERS),
        heat_tables.by_metric(view, Question.WIRE),
        tables.everything(view),
    ]
    return [table for table in found if table.rows]


def _tables(some: Sequence[Table], folder: Path) -> Iterator[Exported]:
    for table in some:
        for ending, text in (("csv", spreadsheet(table)), ("tex", latex(table))):
            name = f"table-{table.id}.{ending}"
            files.write(folder / name, text)
            yield Exported(name, ending, table.caption)


def _charts(view: View, folder: Path, taken: set[str]) -> Iterator[Exported]:
    for figure in [*figures.all_strips(view, whole=True)[0], *curves_and_points(view)]:
        for panel in figure.panels:
            shows = ", ".join(part for part in (figure.heading, figure.about, panel.heading) if part)
            name = _unique(f"{figure.question}-{shows}", taken)
            yield from _drawn(canvas.standalone(panel.svg), folder, name, shows)


def _ranks(study: Assessment, folder: Path, taken: set[str]) -> Iterator[Exported]:
    for one in study_files.all_charts(study):
        name, drawn = _unique(f"study-{one.shows}", taken), vl_convert.vegalite_to_svg(one.chart.to_dict())
        yield from _drawn(drawn, folder, name, one.shows)


def _drawn(svg: str, folder: Path, name: str, shows: str) -> Iterator[Exported]:
    """Writes a chart in both forms."""
    for ending, data in (("svg", svg), ("pdf", vl_convert.svg_to_pdf(svg))):
        files.write(folder / f"{name}.{ending}", data)
        yield Exported(f"{name}.{ending}", ending, shows)


def curves_and_points(view: View) -> list[figures.Figure]:
    """The figures that are no strips."""
    return [
        *lines.fronts(view, "rtt", Question.LATE),
        *lines.distributions(view),
        *lines.fronts(view, "cost", Question.COSTLY),
        *lines.degrading(view),
        *lines.by_option(view),
    ]


def _unique(text: str, taken: set[str]) -> str:
    """The text as the name of a file that none has yet; nothing in it can lead elsewhere."""
    safe = re.sub(r"[^A-Za-z0-9=.+-]+", "-", text).strip(".-")[:LONGEST] or "chart"
    name = next(
        one for one in (safe, *(f"{safe}-{number}" for number in range(2, 100_000))) if one.lower() not in taken
    )
    taken.add(name.lower())
    return name
