"""`tunbench report`: writes the report of one run or of several anew, and all of it as files."""

from pathlib import Path
from typing import Annotated

import typer

from tunbench.cli.shared.path_names import folder_option
from tunbench.cli.shared.plugin_option import PluginOption
from tunbench.cli.shared.read_runs import record_told, tell_study
from tunbench.cli.shared.run_name import run_argument
from tunbench.cli.shell.errors import bad_input_exits, unwritable_exits
from tunbench.journal import files
from tunbench.journal.journal import JournalError
from tunbench.plain_text import plain


def report(
    runs: Annotated[
        list[Path],
        run_argument("A run's folder, or several.", "RUN…"),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write; else report.html in the run's folder, for several runs in this one."),
    ] = None,
    export: Annotated[
        Path | None, folder_option("A folder for every table as CSV and LaTeX, and every chart as SVG and PDF.")
    ] = None,
    plugin: PluginOption = None,
) -> None:
    """Write the report of a run, or of several side by side: one HTML file that works offline.

    \b
    Examples:
      tunbench report runs/wan
      tunbench report runs/before runs/after --out both.html --export figures
    """
    with bad_input_exits(JournalError, OSError):
        from tunbench.analysis.run_analysis import analyse
        from tunbench.report.conclusion import REPORT
        from tunbench.report.export import files as exported
        from tunbench.report.page import html
        from tunbench.report.reported_run import labels_of, reported_run, way_to
        from tunbench.report.view import side_by_side

        path = out or (runs[0] / REPORT if len(runs) == 1 else Path(REPORT))
        reported = [
            reported_run(analyse(record_told(run)), run, label, way_to(run, path))
            for run, label in zip(runs, labels_of(runs), strict=True)
        ]
        for run, one in zip(runs, reported, strict=True):
            tell_study(run, one.assessment, one.unreadable)
        view = side_by_side(reported)
        page = html.page(view)
        with unwritable_exits(path, "name another file with --out"):
            (files.write_named if out else files.write)(path, page)
        with unwritable_exits(export, "name another folder with --export"):
            written = exported.write(view, export) if export else []
    typer.echo(plain(str(path)))
    if export:
        typer.echo(plain(f"{export / exported.INDEX} lists {len(written)} files"))
