"""The mistakes of a plan's file: where each is, what is wrong in one sentence, and all of them as lines of text."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from tunbench import plain_text
from tunbench.plan.toml import positions
from tunbench.plan.toml.bounds import MAX_MISTAKES_SHOWN, MAX_SHOWN_CHARACTERS, MAX_SHOWN_NESTING
from tunbench.plan.toml.positions import Path

OF_A_FILE = re.compile(r", or exclude = \[\{ [^}]* \}\]")
"""What `or_exclude` writes: nobody has that mend who wrote no file."""


class Mistake(NamedTuple):
    """What is wrong at a path of a plan's file: `unnamed` if the sentence names the key, `missing` if it is not there.

    An `absence` is a cell that the plan does not have.
    """

    path: Path
    sentence: str
    unnamed: bool = False
    missing: bool = False
    absence: bool = False


class MistakeAt(ValueError):
    """A mistake at a place below what is being read: `at` leads there from it."""

    def __init__(self, message: str, *at: str | int) -> None:
        self.at = at
        super().__init__(message)


class Mistakes(ValueError):
    """Several mistakes, whose paths lead to them from what is being read."""

    def __init__(self, found: Sequence[Mistake]) -> None:
        self.found = found
        super().__init__("; ".join(one.sentence for one in found))


def mistakes_of(error: ValueError, *at: str | int) -> list[Mistake]:
    """The mistakes that reading what stands at a path ended in."""
    match error:
        case Mistakes():
            below: Sequence[Mistake] = error.found
        case MistakeAt():
            below = [Mistake(error.at, str(error))]
        case _:
            below = [Mistake((), str(error))]
    return [one._replace(path=(*at, *one.path)) for one in below]


def or_exclude(**names: str) -> str:
    """The end of a mend: a cell may be taken out of the plan as well, by the names that it has on these axes."""
    cell = ", ".join(f'{axis} = "{name}"' for axis, name in names.items())
    return f", or exclude = [{{ {cell} }}]"


def in_lines(mistakes: Iterable[Mistake], text: str, file: str, options: Mapping[Path, str]) -> str:
    """One line for each mistake, in the order of the file.

    `options` of the command line, by the paths at which and below which they gave the values, stand for a line.
    """
    lines = positions.lines(text)
    found = []
    for one in mistakes:
        option = next((options[one.path[:end]] for end in range(len(one.path), 0, -1) if one.path[:end] in options), "")
        line = None if option or (one.missing and len(one.path) == 1) else positions.line_of(one.path, lines)
        place = option if option else f"{file}:{line}" if line else file
        sentence = OF_A_FILE.sub("", one.sentence) if option else one.sentence
        key = "" if option or not one.path or one.unnamed else f"{positions.written(one.path)}: "
        found.append((line or 0, f"{place}: {plain_text.line(key + sentence)}"))
    ordered = list(dict.fromkeys(text for _, text in sorted(found, key=lambda pair: pair[0])))
    beyond = len(ordered) - MAX_MISTAKES_SHOWN
    return "\n".join([*ordered[:MAX_MISTAKES_SHOWN], *([f"{file}: and {beyond} more mistakes"] if beyond > 0 else [])])


def quoted(value: object) -> str:
    """A value as a plan would write it, or as much of it as a message bears."""
    text = _shown(value, MAX_SHOWN_NESTING)
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}…"


def as_written(value: object) -> str:
    """A text as it is, and any other value as a plan would write it."""
    return value if isinstance(value, str) else quoted(value)


def _shown(value: object, deeper: int) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            # Also what is no character at all, as in an argument that is not UTF-8.
            return f'"{plain_text.plain(value[: MAX_SHOWN_CHARACTERS + 1])}"'.replace("\n", "\\n")
        case list() | dict() if not deeper:
            return "…"
        case list():
            return f"[{', '.join(_shown(one, deeper - 1) for one in value[:MAX_SHOWN_CHARACTERS])}]"
        case dict():
            some = islice(value.items(), MAX_SHOWN_CHARACTERS)
            pairs = (f"{key:.{MAX_SHOWN_CHARACTERS}} = {_shown(one, deeper - 1)}" for key, one in some)
            return f"{{ {', '.join(pairs)} }}"
        case _:
            return str(value)
