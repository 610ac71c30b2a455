"""The schema of a plan. What a plan may say stands here as types; what is wrong with a value, as one sentence."""

import re
from collections.abc import Callable, Hashable
from typing import Annotated, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, model_validator

from tunbench.plan.places import MistakeAt
from tunbench.plan.profile import read_profile, shipped
from tunbench.plan.shard import Profile
from tunbench.plan.stack import meaning_of_stack, meaning_of_workload, read_stack, read_workload
from tunbench.runner.options import nearest

EXAMPLES = {
    "name": 'name = "my-plan"',
    "seed": "seed = 1",
    "repeats": "repeats = 10",
    "stacks": 'stacks = ["none", "wireguard"]',
    "workloads": 'workloads = ["ping:count=100", "iperf3-tcp:duration=2"]',
    "profiles": 'profiles = ["baseline", { name = "wan", delay = "20ms" }]',
    "lab": '[lab] and below it kind = "vm"',
}
"""How each key is written; the end of a message about it."""

PLAN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""It becomes part of a folder's name."""

LARGEST_SEED = (1 << 63) - 1
MOST_REPEATS = 10_000

KINDS = ("vm", "native")
LATER_KINDS = ("ssh",)
CLOCKS = ("virtual", "real")

Entry = TypeVar("Entry")


def whole_number(key: str, low: int, high: int) -> Callable[[object], int]:
    """A check for a whole number from `low` to `high`."""

    def check(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"{shown(value)} is not a whole number: write for example {EXAMPLES[key]}")
        if not low <= value <= high:
            raise ValueError(f"{value} is out of range: allowed is {low} to {high}")
        return value

    return check


def known(what: str, names: tuple[str, ...], later: tuple[str, ...] = ()) -> Callable[[object], str]:
    """A check for one of some names; those of `later` are not available yet."""

    def check(value: object) -> str:
        if value in later:
            raise ValueError(_unavailable(value, names))
        if value not in names:
            raise ValueError(f"unknown {what} {shown(value)}{nearest(str(value), list(names))}")
        return str(value)

    return check


def only(name: str) -> Callable[[object], str]:
    """A check for the one value that this version knows."""

    def check(value: object) -> str:
        if value != name:
            raise ValueError(_unavailable(value, (name,)))
        return name

    return check


def each_once(key: str, meaning: Callable[[Entry], Hashable]) -> Callable[[list[Entry]], list[Entry]]:
    """A check for a list that is not empty and says nothing twice, in whatever spelling."""

    def check(entries: list[Entry]) -> list[Entry]:
        if not entries:
            raise ValueError(f"the list is empty: name at least one, such as {EXAMPLES[key]}")
        first: dict[Hashable, int] = {}
        for number, entry in enumerate(entries):
            before = first.setdefault(meaning(entry), number)
            if before != number:
                raise MistakeAt(_twice(entry, entries[before]), number)
        return entries

    return check


def plan_name(value: object) -> str:
    """A name that can stand in a folder's name. Raises ValueError."""
    if not isinstance(value, str) or not PLAN_NAME.fullmatch(value):
        raise ValueError(f"{shown(value)} is not a name: write letters, digits, . _ and -, such as {EXAMPLES['name']}")
    return value


def shown(value: object) -> str:
    """A value as a plan would write it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


def _twice(entry: object, before: object) -> str:
    if isinstance(entry, Profile):
        return f'the profile "{entry.name}" is listed twice: take one of them away, or rename it'
    same = "listed twice" if entry == before else f'the same as "{before}", which is listed already'
    return f'"{entry}" is {same}: take one of them away'


def _unavailable(value: object, names: tuple[str, ...]) -> str:
    return f"{shown(value)} is not available in this version; available: {', '.join(names)}"


Stacks = Annotated[
    list[Annotated[str, PlainValidator(read_stack)]], AfterValidator(each_once("stacks", meaning_of_stack))
]
Workloads = Annotated[
    list[Annotated[str, PlainValidator(read_workload)]], AfterValidator(each_once("workloads", meaning_of_workload))
]
Profiles = Annotated[
    list[Annotated[Profile, PlainValidator(read_profile)]], AfterValidator(each_once("profiles", lambda one: one.name))
]


class Lab(BaseModel):
    """Where a plan runs, and on which clock: a vm lab's is virtual unless it says otherwise, any other's is real."""

    model_config = ConfigDict(extra="forbid")

    kind: Annotated[str, PlainValidator(known("lab", KINDS, LATER_KINDS))] = "vm"
    clock: Annotated[str, PlainValidator(known("clock", CLOCKS))] = ""

    @model_validator(mode="after")
    def _clock_of_kind(self) -> Self:
        if self.kind != "vm" and self.clock == "virtual":
            raise MistakeAt(f'the {self.kind} lab has the real clock only: write "real", or take the vm lab', "clock")
        if not self.clock:
            self.clock = "virtual" if self.kind == "vm" else "real"
        return self


class Plan(BaseModel):
    """A checked plan. Stacks and workloads are in their canonical spelling, profiles in SI units."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, PlainValidator(plan_name)]
    seed: Annotated[int, PlainValidator(whole_number("seed", 0, LARGEST_SEED))] = 1
    repeats: Annotated[int, PlainValidator(whole_number("repeats", 1, MOST_REPEATS))] = 1
    topology: Annotated[str, PlainValidator(only("pair"))] = "pair"
    tuning: Annotated[str, PlainValidator(only("default"))] = "default"
    machine: Annotated[str, PlainValidator(only("full"))] = "full"
    stacks: Stacks
    workloads: Workloads
    profiles: Profiles = Field(default_factory=lambda: [shipped()["baseline"]])
    lab: Lab = Field(default_factory=Lab)
