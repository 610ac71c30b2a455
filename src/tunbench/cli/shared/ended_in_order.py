"""Ends a command on Ctrl-C, SIGTERM and SIGHUP, with nothing left behind."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from tunbench.cli.shell.console import say
from tunbench.run.interrupt import INTERRUPTED, interruptible


@contextmanager
def ended_in_order(console: Console) -> Iterator[None]:
    """Within it these end the command, which is to be begun again."""
    try:
        with interruptible():
            yield
    except KeyboardInterrupt:
        say(console, "\nInterrupted; begin again")
        raise typer.Exit(INTERRUPTED) from None
