"""How a run is named on the command line: an empty name, such as that of a variable without a value, is none.

Otherwise it would be the working folder.
"""

from pathlib import Path

import typer

from tunbench.cli.shell.errors import BAD_INPUT, complain


def run_named(name: str) -> Path:
    """The folder or archive of that name. Ends the command where it is empty."""
    if not name:
        complain("the name of the run is empty: name the folder that tunbench run made")
        raise typer.Exit(BAD_INPUT)
    return Path(name)
