"""Reads a table by a declaration of its keys: every value by its reader, and all mistakes at once."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from tunbench.plan.toml.bounds import MAX_MISTAKES, MAX_TABLE_NAMES
from tunbench.plan.toml.mistakes import Mistake, Mistakes, mistakes_of, quoted
from tunbench.plan.toml.values import legible
from tunbench.runner.declare.options import nearest

One = TypeVar("One")

Known = Mapping[str, Any]
"""The values of a table's keys that have been read already."""


class Key(NamedTuple):
    """A key of a table: an example of how it is written, its reader, and what it is where it is not written.

    The reader is given the keys before it, too. Without a default, the key must be there.
    """

    example: str
    read: Callable[[object, Known], Any]
    default: Callable[[], Any] | None = None


def alone(read: Callable[[object], One]) -> Callable[[object, Known], One]:
    """A reader that needs to know no other key."""
    return lambda value, _: read(value)


def read_table(value: object, keys: Mapping[str, Key], example: str, unknown: Callable[[str], str]) -> dict[str, Any]:
    """The value of each key. `unknown` says what is wrong with a key that is none of them.

    Raises ValueError where it is no table, and Mistakes.
    """
    if not isinstance(value, dict):
        raise ValueError(f"{quoted(value)} is not a table: write for example {example}")
    found: dict[str, Any] = {}
    mistakes: list[Mistake] = []
    for name, key in keys.items():
        if name in value:
            try:
                found[name] = key.read(value[name], found)
            except ValueError as error:
                mistakes += mistakes_of(error, name)
        elif key.default:
            found[name] = key.default()
        else:
            sentence = f'the key "{name}" is missing: write for example {key.example}'
            mistakes.append(Mistake((name,), sentence, unnamed=True, missing=True))
    for name in value:
        if name not in keys and len(mistakes) < MAX_MISTAKES:
            mistakes.append(Mistake((name,), unknown(name), unnamed=True))
    if mistakes:
        raise Mistakes(mistakes)
    return found


def unknown_in(table: str, keys: Mapping[str, Key]) -> Callable[[str], str]:
    """What says that a key is unknown in a table that has these keys."""
    return lambda key: f'unknown key "{key}" in [{table}]{nearest(key, list(keys))}'


def read_list(value: object, read: Callable[[object], One], example: str) -> list[One]:
    """What each entry of a list is read as. Raises ValueError where it is no list, and Mistakes."""
    if not isinstance(value, list):
        raise ValueError(f"{quoted(value)} is not a list: write for example {example}")
    found: list[One] = []
    mistakes: list[Mistake] = []
    for number, entry in enumerate(value):
        try:
            found.append(read(entry))
        except ValueError as error:
            mistakes += mistakes_of(error, number)
        if len(mistakes) >= MAX_MISTAKES:
            break
    if mistakes:
        raise Mistakes(mistakes)
    return found


def read_names(
    value: object,
    read: Callable[[object], One],
    example: str,
    empty: bool = False,
    most: int = MAX_TABLE_NAMES,
) -> dict[str, One]:
    """A table whose keys are names of the user's own, and what each is read as. Raises ValueError and Mistakes."""
    if not isinstance(value, dict):
        raise ValueError(f"{quoted(value)} is not a table of names: write for example {example}")
    if len(value) > most:
        raise ValueError(f"{len(value)} names are too many: at most {most} are allowed")
    if not value and not empty:
        raise ValueError("the table is empty: name at least one")
    found = {}
    for name, one in value.items():
        try:
            found[legible(name)] = read(one)
        except ValueError as error:
            raise Mistakes(mistakes_of(error, name)) from None
    return found
