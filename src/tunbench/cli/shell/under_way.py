"""What takes minutes says what it does, for how long already, and how long it will take."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn

from tunbench.cli.shell.console import say
from tunbench.plan.extent import duration_in_words

EVERY_SECONDS = 30.0
"""Where there is no terminal, a line is printed so often at most."""

Tell = Callable[[str], None]
"""Is told what is being done."""


@contextmanager
def under_way(console: Console, what: str, seconds: float) -> Iterator[Tell]:
    """Shows one line on a terminal, and elsewhere a line from time to time; about so many seconds are expected."""
    began = said = time.monotonic()
    say(console, f"{what}: about {duration_in_words(seconds)}")
    shown = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        console=console,
        disable=not console.is_terminal,
        transient=True,
        refresh_per_second=1,
    )
    with shown:
        task = shown.add_task(what)

        def tell(text: str) -> None:
            nonlocal said
            now = time.monotonic()
            line = f"{what}: {_times(now - began, seconds)}: {text}"
            shown.update(task, description=line[: console.width - 4])
            if not console.is_terminal and now - said >= EVERY_SECONDS:
                said = now
                say(console, line)

        yield tell


def _times(gone: float, expected: float) -> str:
    """How long it has taken, and how long it may still take."""
    left = f"about {duration_in_words(expected - gone)} left" if gone < expected else "longer than expected"
    return f"{duration_in_words(gone)}, {left}"
