"""`tunbench report`: writes the report of a run anew."""

from pathlib import Path
from typing import Annotated

import typer

from tunbench.cli.errors import bad_input_exits
from tunbench.journal import read
from tunbench.journal.journal import JournalError


def report(
    run: Annotated[Path, typer.Argument(help="A run's folder.")],
    out: Annotated[Path | None, typer.Option(help="The file to write; else report.html in the run's folder.")] = None,
) -> None:
    """Write the report of a run: one HTML file that works offline."""
    with bad_input_exits(JournalError, OSError):
        from tunbench.report import html

        path = out or run / "report.html"
        html.write(read.record(run), path)
    typer.echo(path)
