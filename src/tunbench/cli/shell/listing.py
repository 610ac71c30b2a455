"""Lists for the terminal: as JSON, or as a table with a row for each of what is listed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer

from tunbench.cli.shell.console import screen
from tunbench.report.export.json_text import json_text
from tunbench.report.terminal import listings


def print_rows(
    rows: Sequence[Mapping[str, Any]],
    as_json: bool,
    columns: Sequence[str],
    row_of: Callable[[Mapping[str, Any]], list[str]],
) -> None:
    """Prints what is listed, as JSON or as a table with these columns."""
    if as_json:
        print_json(rows)
    else:
        print_table(columns, [row_of(row) for row in rows])


def print_json(value: Mapping[str, Any] | Sequence[Any]) -> None:
    """Prints an object, or rows, as JSON."""
    typer.echo(json_text(value))


def alternatives(names: Sequence[str]) -> str:
    """Names of which one is to be chosen, in words."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints rows as a table."""
    screen().print(listings.table(columns, rows))
