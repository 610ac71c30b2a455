"""Reads the lists of a plan: an entry stands for one thing or for those of its sweeps, and nothing is said twice."""

from collections.abc import Callable, Hashable, Iterable
from typing import Annotated, Any, NamedTuple

from pydantic import PlainValidator, TypeAdapter, ValidationInfo

from tunbench.plan.axes.sweep import MOST
from tunbench.plan.shard import Machine, Profile, Tuning
from tunbench.plan.toml.positions import MistakeAt

EXAMPLES = {
    "name": 'name = "my-plan"',
    "seed": "seed = 1",
    "repeats": "repeats = 10",
    "topology": 'topology = "pair"',
    "tuning": 'tuning = ["default", { name = "bbr", congestion = "bbr" }]',
    "machine": 'machine = ["full", "slow"]',
    "probes": 'probes = ["cost"]',
    "stacks": 'stacks = ["none", "wireguard"]',
    "workloads": 'workloads = ["ping:count=100", "iperf3-tcp:duration=2"]',
    "profiles": 'profiles = ["baseline", { name = "wan", delay = "20ms" }]',
    "until": 'until = { width = "2%", max = 30 }',
    "lab": '[lab] and below it kind = "vm"',
}
"""How each key is written; the end of a message about it."""

MOST_ENTRIES = 1_000
"""Entries of a list."""

Read = Callable[[object, dict[str, Any]], Iterable[Any]]
"""What an entry stands for, one after the other, given the keys of the plan that have been read already."""

Check = Callable[[object, ValidationInfo], list[Any]]


class Most(NamedTuple):
    """How much a list may have with its sweeps: a number of `what`, of which each value has `each`."""

    number: int
    what: str
    each: Callable[[Any], int]


VALUES = Most(MOST, "values", lambda _: 1)


def several(
    key: str, read: Read, meaning: Callable[[Any], Hashable], or_one: bool = False, most: Most = VALUES
) -> Check:
    """A check for a list that is not empty and says nothing twice, in whatever spelling; also for `or_one` value."""

    def check(value: object, info: ValidationInfo) -> list[Any]:
        if or_one and not isinstance(value, list):
            return list(read(value, info.data))
        if isinstance(value, list) and len(value) > MOST_ENTRIES:
            raise ValueError(
                f"{len(value)} entries are too many: at most {MOST_ENTRIES} are allowed; sweeps are shorter"
            )
        left = most.number

        def some(one: object) -> list[Any]:
            nonlocal left
            found = []
            for thing in read(one, info.data) if left >= 0 else ():
                found.append(thing)
                left -= most.each(thing)
                if left < 0:
                    break
            if left < 0:
                raise ValueError(f"up to here the list has more than {most.number} {most.what}: sweep over less")
            return found

        # Here every entry is read, so that all of their mistakes are told.
        entry = Annotated[list[Any], PlainValidator(some)]
        return _flat(key, TypeAdapter(list[entry]).validate_python(value), meaning)

    return check


def alone(read: Callable[[object], Iterable[Any]]) -> Read:
    """A reader of entries that needs to know no other key."""
    return lambda value, _: read(value)


def _flat(key: str, entries: list[list[Any]], meaning: Callable[[Any], Hashable]) -> list[Any]:
    if not entries:
        raise ValueError(f"the list is empty: name at least one, such as {EXAMPLES[key]}")
    first: dict[Hashable, Any] = {}
    for number, one in ((number, one) for number, entry in enumerate(entries) for one in entry):
        what = meaning(one)
        if what in first:
            raise MistakeAt(_twice(one, first[what]), number)
        first[what] = one
    return list(first.values())


def _twice(entry: Any, before: Any) -> str:
    if isinstance(entry, Profile | Tuning | Machine):
        what = type(entry).__name__.lower()
        return f'the {what} "{entry.name}" is listed twice: take one of them away, or rename it'
    same = "listed twice" if entry == before else f'the same as "{before}", which is listed already'
    return f'"{entry}" is {same}: take one of them away'
