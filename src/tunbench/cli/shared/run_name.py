"""How a run is named on the command line, as an argument and as an option."""

from collections.abc import Callable
from typing import Any

import typer

from tunbench.cli.shared.path_names import path_parser
from tunbench.cli.shell import completion

Completed = Callable[[str], list[str]]


run_named = path_parser("the name of the run is empty: name the folder that tunbench run made")
"""Reads the name of a run's folder or archive."""


def run_argument(help: str = "A run's folder.", metavar: str = "RUN", completed: Completed = completion.runs) -> Any:
    """An argument that names a run."""
    return typer.Argument(metavar=metavar, help=help, parser=run_named, autocompletion=completed)


def run_option(name: str, help: str, completed: Completed = completion.runs) -> Any:
    """An option that names a run."""
    return typer.Option(name, metavar="RUN", help=help, parser=run_named, autocompletion=completed)
