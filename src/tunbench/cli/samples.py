"""`tunbench samples`: every measured value of a run."""

import io
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tunbench.cli.errors import bad_input_exits
from tunbench.journal import read
from tunbench.journal.journal import JournalError


class Format(StrEnum):
    """The forms in which samples are printed."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def samples(
    run: Annotated[Path, typer.Argument(help="A run's folder.")],
    format: Annotated[Format, typer.Option(help="csv, json (one object a line) or parquet.")] = Format.CSV,
) -> None:
    """Print every measured value of a run, sorted, one row a sample, in SI units.

    \b
    Example:
      tunbench samples runs/seven --format csv | grep throughput
    """
    with bad_input_exits(JournalError):
        from tunbench.analysis.frame import frame

        table = frame(read.record(run))
    if format is Format.CSV:
        typer.echo(table.write_csv(), nl=False)
    elif format is Format.JSON:
        typer.echo(table.write_ndjson(), nl=False)
    else:
        packed = io.BytesIO()
        table.write_parquet(packed)
        typer.echo(packed.getvalue(), nl=False)
