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

FOLDERS_OF_XDG = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME")
"""Variables from which Tunbench takes folders."""


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
    for name in FOLDERS_OF_XDG:
        _check_whole(name)


def _check_whole(name: str) -> None:
    """Ends the command where a variable names a relative path, which is another folder wherever one works.

    The XDG base directory specification has it ignored. But who sets it means some folder, and would be told of images
    in a place that nobody named, or that there are none.
    """
    folder = os.environ.get(name)
    if folder and not Path(folder).is_absolute():
        _end(f'{name} is "{folder}", which is relative to the working folder: write it from / on, or unset it')


def _end(why: str) -> None:
    complain(why)
    sys.exit(BAD_INPUT)
