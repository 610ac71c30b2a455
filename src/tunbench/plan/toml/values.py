"""Readers of single values: each says in one sentence what is wrong with another one."""

import re
from collections.abc import Callable

from tunbench.plain_text import plain
from tunbench.plan.toml.mistakes import quoted
from tunbench.runner.declare.options import nearest


def whole_number(example: str, low: int, high: int) -> Callable[[object], int]:
    """A reader of a whole number from `low` to `high`."""

    def read(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"{quoted(value)} is not a whole number: write for example {example}")
        if not low <= value <= high:
            raise ValueError(f"{value} is out of range: allowed is {low} to {high}")
        return value

    return read


def one_of(what: str, names: tuple[str, ...], later: tuple[str, ...] = ()) -> Callable[[object], str]:
    """A reader of one of some names; those of `later` are not available yet."""

    def read(value: object) -> str:
        if value in later:
            raise ValueError(f"{quoted(value)} is not available in this version; available: {', '.join(names)}")
        if value not in names:
            raise ValueError(f"unknown {what} {quoted(value)}{nearest(str(value), list(names))}")
        return str(value)

    return read


def matching(pattern: re.Pattern[str], otherwise: str) -> Callable[[object], str]:
    """A reader of a text that matches a pattern; `otherwise` says that another one does not, and the mend."""

    def read(value: object) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise ValueError(f"{quoted(value)} is {otherwise}")
        return value

    return read


def read_text(value: object) -> str:
    """A text that says something. Raises ValueError."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{quoted(value)} is not a text that says something: write one in quotes")
    return legible(value.strip())


def legible(text: str) -> str:
    """The text, which has nothing in it that acts on a terminal, or turns what is read. Raises ValueError."""
    if plain(text) != text:
        raise ValueError(f"{quoted(plain(text))} has characters that a terminal does not show: take them away")
    return text
