"""`tunbench samples`: every measured value of a run."""

import io
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tunbench.cli.shared.plugin_option import PluginOption
from tunbench.cli.shared.read_runs import record_told
from tunbench.cli.shared.run_name import run_argument
from tunbench.cli.shell.errors import bad_input_exits, one_of
from tunbench.journal.journal import JournalError
from tunbench.report.export.json_text import SCHEMA

if TYPE_CHECKING:
    from polars import DataFrame

ROWS_AT_ONCE = 1000
"""Rows that are made into text at once: each has the names of its trial, which may be thousands of characters."""


class Format(StrEnum):
    """The forms in which samples are printed."""

    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


def samples(
    run: Annotated[Path, run_argument()],
    format: Annotated[
        Format | None, typer.Option(help="csv, json (one object a line) or parquet.", show_default="csv")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    plugin: PluginOption = None,
) -> None:
    """Print every measured value of a run, sorted, one row a sample, in SI units.

    Each line of JSON carries the version of its schema.

    \b
    Examples:
      tunbench samples runs/seven --format csv | grep throughput
      tunbench samples runs/seven --json >samples.jsonl
    """
    one_of({"--json": as_json, f"--format {format}": format and format is not Format.JSON})
    form = Format.JSON if as_json else format or Format.CSV
    with bad_input_exits(JournalError):
        from tunbench.analysis.samples import every_sample

        table = every_sample(record_told(run))
    if form is not Format.PARQUET:
        for start in range(0, max(1, len(table)), ROWS_AT_ONCE):
            rows = table[start : start + ROWS_AT_ONCE]
            text = rows.write_csv(include_header=not start) if form is Format.CSV else _lines(rows)
            typer.echo(text, nl=False)
    else:
        packed = io.BytesIO()
        table.write_parquet(packed)
        typer.echo(packed.getvalue(), nl=False)


def _lines(rows: "DataFrame") -> str:
    """The rows as JSON, an object a line, each with the version of the schema."""
    from polars import Int64, lit

    return rows.select(lit(SCHEMA, Int64).alias("schema"), *rows.columns).write_ndjson()
