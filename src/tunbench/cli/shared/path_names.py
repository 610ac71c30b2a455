"""How paths are named on the command line: none of them by an empty name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from tunbench.cli.shell.errors import BAD_INPUT, complain


def path_parser(complaint: str) -> Callable[[str], Path]:
    """Reads the name of a path, and ends the command with this complaint where it is empty.

    An empty name, such as that of a variable without a value, would otherwise be the working folder.
    """

    def named(name: str) -> Path:
        if not name:
            complain(complaint)
            raise typer.Exit(BAD_INPUT)
        return Path(name)

    return named


def folder_option(help: str) -> Any:
    """An option that names a folder to write."""
    parser = path_parser("the name of the folder is empty: name one, or leave the option out")
    return typer.Option(metavar="<path>", help=help, parser=parser)
