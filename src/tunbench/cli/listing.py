"""Lists for the terminal: as JSON, or as a table with a row for each of what is listed."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import typer
from rich.table import Table

from tunbench.cli.console import screen


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


def print_json(value: Any) -> None:
    """Prints a value as JSON; of a number that is not finite, which JSON cannot say, null."""
    typer.echo(json.dumps(_finite(value), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def alternatives(names: Sequence[str]) -> str:
    """Names of which one is to be chosen, in words."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints rows as a table."""
    shown = Table(show_lines=any("\n" in cell for row in rows for cell in row))
    for column in columns:
        shown.add_column(column, no_wrap=column == "name", overflow="fold")
    for row in rows:
        shown.add_row(*row)
    screen().print(shown)
