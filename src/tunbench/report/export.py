"""All of a report as files: tables as CSV and LaTeX, charts as SVG and PDF, and an index of them."""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import vl_convert

from tunbench.analysis.studied import Assessment
from tunbench.report import canvas, figures, heats, lines, questions, study_files, tables
from tunbench.report.latex import latex, no_formula, spreadsheet
from tunbench.report.tables import Table
from tunbench.report.view import View

INDEX = "index.csv"

LONGEST = 120
"""Characters of a file's name before its ending."""


class Exported(NamedTuple):
    """A file that was written, and what it shows."""

    file: str
    kind: str
    shows: str


def write(view: View, folder: Path, study: Assessment | None = None) -> list[Exported]:
    """Writes every table and chart to a folder, which is made. Raises OSError where that cannot be."""
    folder.mkdir(parents=True, exist_ok=True)
    taken: set[str] = set()
    written = [*_tables(all_tables(view), folder), *_charts(view, folder, taken)]
    if study:
        written += [*_tables(study_files.all_tables(study), folder), *_ranks(study, folder, taken)]
    with (folder / INDEX).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(Exported._fields)
        writer.writerows(map(no_formula, one) for one in written)
    return written


def all_tables(view: View) -> list[Table]:
    """Every table of a report, with all its rows; those that are empty are left out."""
    found = [
        heats.headline(view),
        heats.relative(view, "throughput"),
        heats.relative(view, "rtt"),
        tables.costs(view),
        heats.by_metric(view, questions.RECOVERS),
        heats.by_metric(view, questions.WIRE),
        tables.everything(view),
    ]
    return [table for table in found if table.rows]


def _tables(some: Sequence[Table], folder: Path) -> Iterator[Exported]:
    for table in some:
        for ending, text in (("csv", spreadsheet(table)), ("tex", latex(table))):
            name = f"table-{table.id}.{ending}"
            (folder / name).write_text(text, encoding="utf-8", newline="")
            yield Exported(name, ending, table.caption)


def _charts(view: View, folder: Path, taken: set[str]) -> Iterator[Exported]:
    for figure in [*figures.all_strips(view, whole=True)[0], *curves_and_points(view)]:
        for panel in figure.panels:
            shows = ", ".join(part for part in (figure.heading, figure.about, panel.heading) if part)
            name = _unique(f"{figure.question}-{shows}", taken)
            drawn = canvas.standalone(panel.svg)
            (folder / f"{name}.svg").write_text(drawn, encoding="utf-8")
            (folder / f"{name}.pdf").write_bytes(vl_convert.svg_to_pdf(drawn))
            yield Exported(f"{name}.svg", "svg", shows)
            yield Exported(f"{name}.pdf", "pdf", shows)


def _ranks(study: Assessment, folder: Path, taken: set[str]) -> Iterator[Exported]:
    for one in study_files.all_charts(study):
        name, drawn = _unique(f"study-{one.shows}", taken), vl_convert.vegalite_to_svg(one.chart.to_dict())
        (folder / f"{name}.svg").write_text(drawn, encoding="utf-8")
        (folder / f"{name}.pdf").write_bytes(vl_convert.svg_to_pdf(drawn))
        yield Exported(f"{name}.svg", "svg", one.shows)
        yield Exported(f"{name}.pdf", "pdf", one.shows)


def curves_and_points(view: View) -> list[figures.Figure]:
    """The figures that are no strips."""
    return [
        *lines.fronts(view, "rtt", questions.LATE),
        *lines.distributions(view),
        *lines.fronts(view, "cost", questions.COSTLY),
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
