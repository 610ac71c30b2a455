"""Sweeps: a list or a range in the place of one value, and the product of all that one entry of a plan has."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import product
from typing import NamedTuple, TypeVar

from tunbench.plan.toml.bounds import MAX_SHOWN_CHARACTERS, MAX_SPELLING_CHARACTERS, MAX_SWEPT_VALUES
from tunbench.plan.toml.mistakes import MistakeAt, quoted
from tunbench.plan.toml.positions import Path

NUMBER = re.compile(r"(?P<number>[+-]?[0-9]{1,13}(\.[0-9]{1,12})?) *(?P<unit>[A-Za-zµ%]*)")
"""A number and its unit. With so few digits, differences and quotients are exact in Decimal's 28."""

EXAMPLE = "0ms..50ms step 10ms"

# What is behind `*+` is not tried again with fewer spaces.
SWEPT = re.compile(r"=\s*+(?P<value>\[[^\[\]]*\]|[^,+=\[\]]*\.\.[^,+=\[\]]*)")
"""A list or a range behind an option of a spelling."""

Of = TypeVar("Of")
One = TypeVar("One")


class Swept(NamedTuple):
    """One table of a product: `label` says the swept values, such as `delay=20ms,loss=1%`; it is empty without any."""

    label: str
    table: dict[str, object]

    def name(self, name: str) -> str:
        """The name of a result: that of the entry with the swept values behind a colon."""
        return f"{name}:{self.label}" if self.label else name


def values(value: object) -> list[object] | None:
    """The values of a list or a range, in its order; None for what is neither. Raises ValueError."""
    if isinstance(value, list):
        return _of_list(value)
    if isinstance(value, str) and ".." in value:
        return list(_of_range(value))
    return None


def tables(table: Mapping[str, object], fixed: Collection[Path] = ()) -> Iterator[Swept]:
    """The product of all sweeps in a table and in those inside; `fixed` are keys that are taken as they are.

    What is written first varies slowest. Each is made when it is asked for. Raises MistakeAt.
    """
    leaves = ((path, value) for path, value in _leaves(table) if path not in fixed)
    axes = list(_product((path, found) for path, value in leaves if (found := _at(path, value))))
    paths, names = [path for path, _ in axes], [".".join(path) for path, _ in axes]
    longest = sum(len(name) + 2 + _longest(found) for name, (_, found) in zip(names, axes, strict=True))
    _short("the longest name of its swept values", longest)
    for chosen in product(*(found for _, found in axes)):
        label = ",".join(f"{name}={written(value)}" for name, value in zip(names, chosen, strict=True))
        yield Swept(label, _with(table, dict(zip(paths, chosen, strict=True))))


def spellings(text: str) -> list[str]:
    """The spellings that one with sweeps in it stands for, such as `ping:count=[1,2]`. Raises ValueError."""
    pieces = SWEPT.split(text)
    # With one group in the expression, every other piece is a value.
    if any(mark in piece for piece in pieces[::2] for mark in "[]"):
        raise ValueError(f'"{text}" has a bracket that is no list: write option=[value,value]')
    axes = [axis for _, axis in _product((value, _of_spelling(value)) for value in pieces[1::2])]
    _short(quoted(text), sum(len(piece) for piece in pieces[::2]) + sum(1 + _longest(axis) for axis in axes))
    return [_filled(pieces[::2], chosen) for chosen in product(*axes)]


def all_spelled(value: object, what: str, example: str) -> list[str]:
    """The spellings that an entry of a plan stands for; one with many values in it may be long. Raises ValueError."""
    return spellings(value) if isinstance(value, str) else [spelled(value, what, example)]


def spelled(value: object, what: str, example: str) -> str:
    """The spelling that a value of a plan is. Raises ValueError."""
    if not isinstance(value, str):
        raise ValueError(f'{quoted(value)} is not a {what}: write its spelling in quotes, such as "{example}"')
    if len(value) > MAX_SPELLING_CHARACTERS:
        raise ValueError(f"{quoted(value)} has {len(value)} characters: at most {MAX_SPELLING_CHARACTERS} are allowed")
    return value


def written(value: object) -> str:
    """A swept value as it stands in the name of a result: a number with its unit has no space in it, and 2.0 is 2."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(value).removesuffix(".0")
    quantity = NUMBER.fullmatch(str(value).strip())
    return quantity["number"] + quantity["unit"] if quantity else str(value)


def _of_list(entries: Sequence[object]) -> list[object]:
    if not entries:
        raise ValueError("the list is empty: name at least one value")
    found: list[object] = []
    for entry in entries:
        if isinstance(entry, list | dict):
            raise ValueError(f"{quoted(entry)} stands in a list of values: name values only")
        found += values(entry) or [entry]
        _bounded(len(found))
    twice = next((text for text, times in Counter(map(written, found)).items() if times > 1), None)
    if twice is not None:
        raise ValueError(f"the list has {twice} twice: take one of them away")
    return found


def _of_range(text: str) -> Iterator[str]:
    first, last, step, unit = _ends(text)
    if step == 0:
        raise ValueError(f'"{text}" has the step 0, and never ends: write for example {EXAMPLE}')
    if (last - first) * step < 0:
        raise ValueError(f'"{text}" has a step of the wrong sign: its values would lead away from the end')
    number, rest = divmod(last - first, step)
    if rest:
        before, behind = (_plain(first + (number + more) * step, unit) for more in (0, 1))
        raise ValueError(f'"{text}" does not reach its end: end at {before} or at {behind}')
    _bounded(int(number) + 1)
    return (_plain(first + index * step, unit) for index in range(int(number) + 1))


def _ends(text: str) -> tuple[Decimal, Decimal, Decimal, str]:
    """First value, last value, step, and the unit of all three."""
    if len(text) > MAX_SHOWN_CHARACTERS:
        raise ValueError(f"{quoted(text)} is not a range: write for example {EXAMPLE}")
    first, _, rest = text.partition("..")
    last, *step = re.split(r"\s+step\b", rest, maxsplit=1)
    if not step:
        raise ValueError(f'"{text}" has no step: write for example {EXAMPLE}')
    found = [NUMBER.fullmatch(piece.strip()) for piece in (first, last, step[0])]
    numbers = [match for match in found if match]
    if len(numbers) < len(found):
        raise ValueError(f'"{text}" is not a range: write for example {EXAMPLE}')
    units = list(dict.fromkeys(match["unit"] for match in numbers))
    if len(units) > 1:
        mixed = " and ".join(unit or "none" for unit in units)
        raise ValueError(f'"{text}" mixes units ({mixed}): write the same behind all three numbers, as {EXAMPLE}')
    low, high, width = (Decimal(match["number"]) for match in numbers)
    return low, high, width, units[0]


def _plain(number: Decimal, unit: str) -> str:
    """The number without exponent and without zeros at its end."""
    text = f"{number:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + unit


def _bounded(number: int) -> None:
    if number > MAX_SWEPT_VALUES:
        raise ValueError(f"a sweep over {number} values is too long: at most {MAX_SWEPT_VALUES} are allowed")


def _product(axes: Iterable[tuple[Of, list[One]]]) -> Iterator[tuple[Of, list[One]]]:
    """The axes as they come, each with what it is of, as long as their product is bearable. Raises ValueError."""
    number = 1
    for of, found in axes:
        number *= len(found)
        _bounded(number)
        yield of, found


def _longest(values: Iterable[object]) -> int:
    """Characters of the longest of some values, as they stand in the name of a result."""
    return max((len(written(value)) for value in values), default=0)


def _short(what: str, length: int) -> None:
    """Raises ValueError where the longest of the names that a sweep stands for is too long."""
    if length > MAX_SPELLING_CHARACTERS:
        raise ValueError(f"{what} has {length} characters: at most {MAX_SPELLING_CHARACTERS} are allowed")


def _of_spelling(text: str) -> list[str]:
    found: object = text
    if text.startswith("["):
        entries = [entry.strip() for entry in text[1:-1].split(",")]
        if entries != [""] and not all(entries):
            raise ValueError(f'"{text}" has an empty value: take a comma away')
        found = entries if any(entries) else []
    return [written(value) for value in values(found) or []]


def _filled(pieces: Sequence[str], chosen: Sequence[str]) -> str:
    head, *rest = pieces
    return head + "".join(f"={value}{piece}" for value, piece in zip(chosen, rest, strict=True))


def _leaves(table: Mapping[str, object], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Every value that is no table, with the keys that lead to it."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key), value


def _at(path: tuple[str, ...], value: object) -> list[object] | None:
    try:
        return values(value)
    except ValueError as error:
        raise MistakeAt(str(error), *path) from None


def _with(table: Mapping[str, object], chosen: Mapping[Path, object], above: Path = ()) -> dict[str, object]:
    """The table with the chosen values in it."""
    return {
        key: _with(value, chosen, (*above, key)) if isinstance(value, dict) else chosen.get((*above, key), value)
        for key, value in table.items()
    }
