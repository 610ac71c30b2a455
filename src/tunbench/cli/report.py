"""`tunbench report`: writes the report of one run or of several anew, and all of it as files."""

import os
from pathlib import Path
from typing import Annotated

import typer

from tunbench.cli.errors import bad_input_exits, unwritable_exits
from tunbench.journal import files, read
from tunbench.journal.journal import JournalError
from tunbench.plain_text import plain

NAME = "report.html"


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="A run's folder, or several.")],
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write; else report.html in the run's folder, for several runs in this one."),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="A folder for every table as CSV and LaTeX, and every chart as SVG and PDF.")
    ] = None,
) -> None:
    """Write the report of a run, or of several side by side: one HTML file that works offline."""
    with bad_input_exits(JournalError, OSError):
        from tunbench.analysis.findings import find
        from tunbench.report.export import files as exported
        from tunbench.report.page import html
        from tunbench.report.reported_run import reported_run
        from tunbench.report.view import side_by_side

        path = out or (runs[0] / NAME if len(runs) == 1 else Path(NAME))
        view = side_by_side(
            [
                reported_run(find(read.record(run)), run, label, _way(run, path))
                for run, label in zip(runs, _labels(runs), strict=True)
            ]
        )
        page = html.page(view)
        with unwritable_exits(path, "name another file with --out"):
            if out:
                out.write_text(page, encoding="utf-8", errors="replace")
            else:
                files.write(path, page)
        with unwritable_exits(export, "name another folder with --export"):
            written = exported.write(view, export) if export else []
    typer.echo(plain(str(path)))
    if export:
        typer.echo(plain(f"{export / exported.INDEX} lists {len(written)} files"))


def _way(run: Path, page: Path) -> str:
    """The way from the page's folder to the run's."""
    return plain(Path(os.path.relpath(os.path.realpath(run), os.path.realpath(page.parent))).as_posix())


def _labels(runs: list[Path]) -> list[str]:
    """What tells the runs apart: nothing for one, else their folders' names, with those above where they are equal."""
    if len(runs) == 1:
        return [""]
    ways = [tuple(map(plain, Path(os.path.realpath(run)).parts)) for run in runs]
    longest = max(map(len, ways))
    named = (["/".join(way[-depth:]) for way in ways] for depth in range(1, longest + 1))
    labels = next((names for names in named if len(set(names)) == len(names)), None)
    return labels or [f"run {number}" for number in range(1, len(runs) + 1)]
