"""Lists for the terminal: as JSON, or as a table with a row for each of what is listed."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.table import Table


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


def print_json(rows: Sequence[Mapping[str, Any]]) -> None:
    """Prints rows as JSON."""
    typer.echo(json.dumps(rows, indent=2))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints rows as a table."""
    shown = Table(show_lines=any("\n" in cell for row in rows for cell in row))
    for column in columns:
        shown.add_column(column, no_wrap=column == "name", overflow="fold")
    for row in rows:
        shown.add_row(*row)
    Console().print(shown)
