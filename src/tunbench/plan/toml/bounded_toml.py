"""Reads TOML that anybody may have written: what would take long, or much memory, is refused with its line."""

import re
import sys
import tomllib
from typing import Any

from tunbench import plain_text
from tunbench.plan.toml import positions
from tunbench.plan.toml.bounds import MAX_NESTING, MAX_NUMBER

LONG_KEY = re.compile(rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MAX_NESTING}}}""")
"""A key of more steps than any table has."""

LONG_NUMBER = re.compile(rf"[0-9_]{{{sys.int_info.default_max_str_digits}}}")
"""As much of a number as Python does not read."""

POSITION = re.compile(r" \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$")
"""Where tomllib says that it stopped."""


class TomlError(Exception):
    """A text is no TOML that can be read. The message names the file, the line if there is one, and what is wrong."""


class NotToml(TomlError):
    """It is no TOML at all."""


def parsed(text: str, file: str) -> dict[str, Any]:
    """The tables of a text; `file` is for messages. Raises TomlError."""
    if line := _first_line(LONG_KEY, text):
        raise TomlError(
            f"{file}:{line}: a key of more than {MAX_NESTING} steps, such as a.b.c: no table is nested so deeply"
        )
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotToml(_syntax(str(error), text, file)) from None
    except ValueError as error:
        line = _first_line(LONG_NUMBER, text)
        raise TomlError(f"{file}:{line}: a number of too many digits" if line else f"{file}: {error}") from None
    except RecursionError:
        raise TomlError(_too_deep(file)) from None
    _check_bearable(data, text, file)
    return data


def _first_line(pattern: re.Pattern[str], text: str) -> int | None:
    """The line of the first match."""
    found = pattern.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else None


def _check_bearable(data: dict[str, Any], text: str, file: str) -> None:
    """Raises TomlError where tables and lists are nested more deeply, or a number is larger, than any is."""
    waiting: list[tuple[positions.Path, object]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        if len(path) > MAX_NESTING:
            raise TomlError(_too_deep(file))
        if isinstance(value, dict):
            waiting += [((*path, key), one) for key, one in value.items()]
        elif isinstance(value, list):
            waiting += [((*path, number), one) for number, one in enumerate(value)]
        elif isinstance(value, int) and abs(value) > MAX_NUMBER:
            line = positions.line_of(path, positions.lines(text))
            raise TomlError(f"{file}:{line}: {plain_text.line(positions.written(path))}: a number of too many digits")


def _too_deep(file: str) -> str:
    return f"{file}: this is not TOML that can be read: it is nested too deeply"


def _syntax(message: str, text: str, file: str) -> str:
    position = POSITION.search(message)
    lines = text.rstrip().split("\n")
    line, column = len(lines), len(lines[-1]) + 1
    if position and position["line"]:
        line, column = int(position["line"]), int(position["column"])
    what = POSITION.sub("", message)
    return f"{file}:{line}:{column}: this is not TOML: {what[:1].lower() + what[1:]}"
