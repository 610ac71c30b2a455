"""What is checked of values that somebody else may have written: types, sizes, and that a table has what it must."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from tunbench.journal.bounds import MAX_FACTS, MAX_NAME_CHARACTERS, MAX_NESTING, MAX_NUMBER, MAX_WHOLE_NUMBER

NAMED = re.compile(r"[0-9A-Za-zµ°][^\n]*")
"""A name begins with a letter or digit, so that no spreadsheet takes it for a formula."""

Check = Callable[[Any], None]
"""Raises InvalidEvent, or any error of a wrong type."""


Checks = Mapping[str, Mapping[str, Check]]
"""For each kind of event, what is read of it and how that is checked."""


class InvalidEvent(ValueError):
    """Something that no run writes; the message says what."""


def check_table(table: Any, checks: Mapping[str, Check], what: str) -> None:
    """Checks the values of a table; a key that ends in a question mark need not be there."""
    if not isinstance(table, dict):
        raise InvalidEvent(f"{what} is no table")
    for key, one in checks.items():
        name = key.removesuffix("?")
        if name not in table and name != key:
            continue
        try:
            one(table[name])
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            reason = f": {error}" if isinstance(error, InvalidEvent) and str(error) else ""
            raise InvalidEvent(f"the {name} of {what} is not sound{reason}") from None


def that(valid: Callable[[Any], bool]) -> Check:
    """What raises InvalidEvent where something does not hold of a value."""

    def check(value: Any) -> None:
        if not valid(value):
            raise InvalidEvent

    return check


def is_name(value: Any) -> bool:
    """Whether it is a name of a bearable length."""
    short = isinstance(value, str) and len(value) <= MAX_NAME_CHARACTERS
    return short and value.isprintable() and bool(NAMED.fullmatch(value))


def is_number(value: Any) -> bool:
    """Whether it is a number of a bearable size."""
    return type(value) in (int, float) and -MAX_NUMBER <= value <= MAX_NUMBER


def is_share(value: Any) -> bool:
    """Whether it is a number between 0 and 1."""
    return is_number(value) and 0 < value < 1


def is_whole(value: Any) -> bool:
    """Whether it is a whole number of a bearable size, and none below 0."""
    return type(value) is int and 0 <= value <= MAX_WHOLE_NUMBER


def check_names(value: Any) -> None:
    """A list of names."""
    if not isinstance(value, list) or not all(map(is_name, value)):
        raise InvalidEvent


def check_texts(value: Any) -> None:
    """A table of texts."""
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise InvalidEvent


def check_facts(value: Any) -> None:
    """A table of whatever JSON has, as long as that can be shown."""
    if not isinstance(value, dict):
        raise InvalidEvent
    left = MAX_FACTS
    waiting = [(value, 0)]
    while waiting:
        inner, depth = waiting.pop()
        if depth > MAX_NESTING:
            raise InvalidEvent(f"it is nested more than {MAX_NESTING} deep")
        if isinstance(inner, dict | list):
            left -= len(inner)
            if left < 0:
                raise InvalidEvent(f"it has more than {MAX_FACTS} names and values")
            waiting += [(one, depth + 1) for one in (inner.values() if isinstance(inner, dict) else inner)]
        elif type(inner) in (int, float) and not is_number(inner):
            raise InvalidEvent("it has a number that is too large")


NAME, TEXT = that(is_name), that(lambda value: isinstance(value, str))
NUMBER, WHOLE = that(is_number), that(is_whole)
SOME_TEXTS = that(lambda value: isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value))
