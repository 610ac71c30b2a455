"""How a run is named on the command line, as an argument and as an option."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from tunbench.cli.shell import completion
from tunbench.cli.shell.errors import BAD_INPUT, complain

Completed = Callable[[str], list[str]]


def run_named(name: str) -> Path:
    """The folder or archive of that name. Ends the command where it is empty.

    An empty name, such as that of a variable without a value, would otherwise be the working folder.
    """
    if not name:
        complain("the name of the run is empty: name the folder that tunbench run made")
        raise typer.Exit(BAD_INPUT)
    return Path(name)


def run_argument(help: str = "A run's folder.", metavar: str = "RUN", completed: Completed = completion.runs) -> Any:
    """An argument that names a run."""
    return typer.Argument(metavar=metavar, help=help, parser=run_named, autocompletion=completed)


def run_option(name: str, help: str, completed: Completed = completion.runs) -> Any:
    """An option that names a run."""
    return typer.Option(name, metavar="RUN", help=help, parser=run_named, autocompletion=completed)
