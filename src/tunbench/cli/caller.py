"""What a command needs of whoever calls it, looked at before it does anything."""

import os
import sys
from pathlib import Path

from tunbench.cli.errors import BAD_INPUT, complain


def check() -> None:
    """Ends the command with a line and BAD_INPUT where it could not come to its end; mends what it can."""
    if sys.flags.optimize > 1:
        # Altair makes its methods from docstrings, when a report is written.
        _end("PYTHONOPTIMIZE=2 (-OO) takes away what reports are made with: unset it, or set it to 1")
    try:
        Path.cwd()
    except OSError as error:
        _end(f"the working folder is gone ({error.strerror}): change to another one")
    if not os.environ.get("COLUMNS", "1").strip("0"):
        # A terminal of no width would show nothing at all.
        del os.environ["COLUMNS"]


def _end(why: str) -> None:
    complain(why)
    sys.exit(BAD_INPUT)
