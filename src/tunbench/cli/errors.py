"""What a user did wrong: one message on stderr, and exit code 2."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from tunbench.plain import plain
from tunbench.plan.load import PlanError

BAD_INPUT = 2
"""Exit code of bad input or an unusable machine."""


@contextmanager
def bad_input_exits(*others: type[Exception]) -> Iterator[None]:
    """Ends the command with the message of a PlanError, or of one of `others`, and exit code 2."""
    mistakes: tuple[type[Exception], ...] = (PlanError, *others)
    try:
        yield
    except mistakes as error:
        typer.echo(plain(str(error)), err=True)
        raise typer.Exit(BAD_INPUT) from None
