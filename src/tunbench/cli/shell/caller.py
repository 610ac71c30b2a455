"""What a command needs of whoever calls it, looked at before it does anything."""

import os
import re
import sys
from pathlib import Path

from tunbench.cli.shell.errors import BAD_INPUT, complain

SIZE_VARIABLES = ("COLUMNS", "LINES", "TERMINAL_WIDTH")
"""Variables from which rich and typer take the size of the terminal, as numbers of any size and in any script."""

SIZE = re.compile("[1-9][0-9]{0,3}")
"""A terminal of no width would show nothing at all, and one of millions takes gigabytes."""

HOMELESS = "/nonexistent"
"""The home of users who have none (Debian Policy, section 9.2.3)."""


def check() -> None:
    """Ends the command with a line and BAD_INPUT where it could not come to its end; mends what it can."""
    try:
        Path.cwd()
    except OSError as error:
        _end(f"the working folder is gone ({error.strerror}): change to another one")
    for name in SIZE_VARIABLES:
        if not SIZE.fullmatch(os.environ.get(name, "1")):
            del os.environ[name]
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = HOMELESS


def _end(why: str) -> None:
    complain(why)
    sys.exit(BAD_INPUT)
