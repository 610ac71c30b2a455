"""`tunbench samples`: every measured value of a run."""

import io
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tunbench.cli.errors import bad_input_exits
from tunbench.cli.shell import completion
from tunbench.journal.journal import JournalError
from tunbench.journal.readers.registry import record_of

ROWS_AT_ONCE = 1000
"""Rows that are made into text at once: each has the names of its trial, which may be thousands of characters."""


class Format(StrEnum):
    """The forms in which samples are printed."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def samples(
    run: Annotated[Path, typer.Argument(help="A run's folder.", autocompletion=completion.runs)],
    format: Annotated[Format, typer.Option(help="csv, json (one object a line) or parquet.")] = Format.CSV,
) -> None:
    """Print every measured value of a run, sorted, one row a sample, in SI units.

    \b
    Example:
      tunbench samples runs/seven --format csv | grep throughput
    """
    with bad_input_exits(JournalError):
        from tunbench.analysis.samples import every_sample

        table = every_sample(record_of(run))
    if format is not Format.PARQUET:
        for start in range(0, max(1, len(table)), ROWS_AT_ONCE):
            rows = table[start : start + ROWS_AT_ONCE]
            text = rows.write_csv(include_header=not start) if format is Format.CSV else rows.write_ndjson()
            typer.echo(text, nl=False)
    else:
        packed = io.BytesIO()
        table.write_parquet(packed)
        typer.echo(packed.getvalue(), nl=False)
