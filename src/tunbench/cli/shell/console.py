"""What commands print on."""

from collections.abc import Iterable

from rich.console import Console, RenderableType

from tunbench.plain_text import plain


def screen(stderr: bool = False) -> Console:
    """A console that shows texts as they are, also those which rich would take for its markup or an emoji's name."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def say(console: Console, text: str) -> None:
    """Prints a line without breaking it, so that a command in it can be copied, and without what acts on a terminal."""
    console.print(plain(text), soft_wrap=True)


def show(console: Console, parts: Iterable[RenderableType]) -> None:
    """Prints what a page of the terminal consists of: lines as `say` does, all else within the terminal's width."""
    for part in parts:
        if isinstance(part, str):
            say(console, part)
        else:
            console.print(part)
