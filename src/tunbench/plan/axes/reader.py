"""What a file of an axis declares: how the values of its key of a plan are read, and when two of them are the same."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from tunbench.plan.toml.bounds import MAX_LIST_ENTRIES, MAX_SWEPT_VALUES
from tunbench.plan.toml.mistakes import MistakeAt
from tunbench.plan.toml.tables import Key, Known, read_list
from tunbench.runner.declare.axes import Axis


class AxisValue(Protocol):
    """A value of an axis: its name in cells, samples and patterns, and what the runner is told of it."""

    @property
    def name(self) -> str:
        """The name of the value."""

    def spec(self) -> Any:
        """The value as JSON can say it: its name, or a table with it."""


class Limit(NamedTuple):
    """How much a list may have with its sweeps: a number of `what`, of which each value has `each`."""

    number: int
    what: str
    each: Callable[[Any], int]


class AxisReader(NamedTuple):
    """How an axis is read: `read` yields the values that an entry of its list stands for, one or those of its sweeps.

    It is given the keys of the plan before it, too. No two values of a plan may have the same `meaning`. `completed`
    adds to a list what has to be measured besides.
    """

    example: str
    read: Callable[[object, Known], Iterable[AxisValue]]
    meaning: Callable[[Any], Hashable] = lambda value: value.name
    completed: Callable[[Sequence[Any]], Sequence[Any]] = lambda values: values
    limit: Limit = Limit(MAX_SWEPT_VALUES, "values", lambda _: 1)


def reader_of(axis: Axis) -> AxisReader:
    """What the file of an axis declares."""
    reader: AxisReader = import_module(f"{__package__}.{axis.name}").READER
    return reader


def key_of(axis: Axis) -> Key:
    """The key of a plan that lists the values of an axis."""
    reader = reader_of(axis)
    default = (lambda: list(reader.read(axis.default, {}))) if axis.default else None
    return Key(reader.example, partial(_read_values, axis, reader), default)


def _read_values(axis: Axis, reader: AxisReader, value: object, known: Known) -> list[AxisValue]:
    """The values of a list that is not empty and says nothing twice, in whatever spelling."""
    if axis.takes_one and not isinstance(value, list):
        return list(reader.read(value, known))
    if isinstance(value, list) and len(value) > MAX_LIST_ENTRIES:
        raise ValueError(
            f"{len(value)} entries are too many: at most {MAX_LIST_ENTRIES} are allowed; sweeps are shorter"
        )
    left = reader.limit.number

    def read_entry(entry: object) -> list[AxisValue]:
        nonlocal left
        found = []
        for one in reader.read(entry, known) if left >= 0 else ():
            found.append(one)
            left -= reader.limit.each(one)
            if left < 0:
                break
        if left < 0:
            raise ValueError(
                f"up to here the list has more than {reader.limit.number} {reader.limit.what}: sweep over less"
            )
        return found

    entries = read_list(value, read_entry, reader.example)
    if not entries:
        raise ValueError(f"the list is empty: name at least one, such as {reader.example}")
    return _each_once(axis, reader, entries)


def _each_once(axis: Axis, reader: AxisReader, entries: Sequence[Sequence[AxisValue]]) -> list[AxisValue]:
    """The values of all entries. Raises MistakeAt where one means the same as another."""
    first: dict[Hashable, AxisValue] = {}
    for number, one in ((number, one) for number, entry in enumerate(entries) for one in entry):
        meaning = reader.meaning(one)
        if meaning in first:
            raise MistakeAt(_listed_twice(axis, one, first[meaning]), number)
        first[meaning] = one
    return list(first.values())


def _listed_twice(axis: Axis, one: AxisValue, before: AxisValue) -> str:
    if isinstance(one.spec(), dict):
        return f'the {axis.name} "{one.name}" is listed twice: take one of them away, or rename it'
    same = "listed twice" if one.name == before.name else f'the same as "{before.name}", which is listed already'
    return f'"{one.name}" is {same}: take one of them away'
