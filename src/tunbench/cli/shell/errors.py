"""What a user did wrong: one message on stderr, and exit code 2."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

import typer

from tunbench.plain_text import plain
from tunbench.plan.load import PlanError

BAD_INPUT = 2
"""Exit code of bad input or an unusable machine."""


def complain(text: str) -> None:
    """Prints a message on stderr, if that takes it: the exit code says as much."""
    with suppress(OSError):
        typer.echo(plain(text), err=True)


def one_of(given: Mapping[str, object]) -> None:
    """Ends the command where more than one of these options is given: what is printed has one form."""
    if len(names := [name for name, value in given.items() if value]) > 1:
        complain(f"{' and '.join(names)} exclude each other; give one of them")
        raise typer.Exit(BAD_INPUT)


@contextmanager
def bad_input_exits(*others: type[Exception]) -> Iterator[None]:
    """Ends the command with the message of a PlanError, or of one of `others`, and exit code 2."""
    mistakes: tuple[type[Exception], ...] = (PlanError, *others)
    try:
        yield
    except mistakes as error:
        complain(str(error))
        raise typer.Exit(BAD_INPUT) from None


@contextmanager
def unwritable_exits(what: object, mend: str) -> Iterator[None]:
    """Ends the command with exit code 2 and the mend where something cannot be written."""
    try:
        yield
    except OSError as error:
        complain(f"cannot write to {what}: {error.strerror}; {mend}")
        raise typer.Exit(BAD_INPUT) from None
