"""The schema of a plan. What a plan may say stands here as types; what is wrong with a value, as one sentence."""

import math
import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, model_validator

from tunbench.plan import cut
from tunbench.plan.axes import machine, tuning
from tunbench.plan.axes.lists import EXAMPLES, Most, alone, several
from tunbench.plan.axes.profile import read_profiles
from tunbench.plan.axes.profile import shipped as shipped_profiles
from tunbench.plan.axes.stack import (
    compared,
    layers_of,
    meaning_of_stack,
    meaning_of_workload,
    read_stacks,
    read_workloads,
)
from tunbench.plan.axes.topology import misfit, read_topology
from tunbench.plan.shard import Machine, Profile, Tuning
from tunbench.plan.toml.positions import MistakeAt, shown
from tunbench.plan.until import Until, read_until
from tunbench.runner import registry
from tunbench.runner.declare.options import nearest
from tunbench.runner.network.underlay import MTU

PLAN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""It becomes part of a folder's name."""

LARGEST_SEED = (1 << 63) - 1
MOST_REPEATS = 10_000
MOST_SHARDS, MOST_TRIALS = 250_000, 1_000_000
"""A plan that is larger is a mistake: it would take months."""

LAYERS = Most(5_000, "layers", layers_of)
"""Of all the stacks of a plan: to read a layer takes ten times as long as another value."""

AUTO = "auto"
"""The native lab where this machine can run all of the plan in it, else the vm lab: decided before a run begins."""

KINDS = ("vm", "native", AUTO)
LATER_KINDS = ("ssh",)
CLOCKS = ("virtual", "real")


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


def plan_name(value: object) -> str:
    """A name that can stand in a folder's name. Raises ValueError."""
    if not isinstance(value, str) or not PLAN_NAME.fullmatch(value):
        raise ValueError(f"{shown(value)} is not a name: write letters, digits, . _ and -, such as {EXAMPLES['name']}")
    return value


def read_stacks_over(value: object, known: dict[str, Any]) -> Iterator[str]:
    """The stacks of an entry, which must fit over links of the least MTU of the plan's tunings. Raises ValueError."""
    return read_stacks(value, min((one.mtu for one in known.get("tuning", [])), default=MTU))


def read_probes(value: object) -> list[str]:
    """The names of probes, sorted. Raises ValueError; MistakeAt where it is in one of them."""
    if not isinstance(value, list):
        raise ValueError(f"{shown(value)} is not a list: write for example {EXAMPLES['probes']}")
    for number, name in enumerate(value):
        if name not in registry.probe_names():
            raise MistakeAt(f"unknown probe {shown(name)}{nearest(str(name), registry.probe_names())}", number)
        if name in value[:number]:
            raise MistakeAt(f'"{name}" is listed twice: take one of them away', number)
    return sorted(value)


def _unavailable(value: object, names: tuple[str, ...]) -> str:
    return f"{shown(value)} is not available in this version; available: {', '.join(names)}"


def _name(one: Any) -> str:
    return str(one.name)


Topologies = Annotated[
    list[str], PlainValidator(several("topology", alone(lambda one: [read_topology(one)]), str, True))
]
Tunings = Annotated[list[Tuning], PlainValidator(several("tuning", alone(tuning.read_tunings), _name, True))]
Machines = Annotated[list[Machine], PlainValidator(several("machine", alone(machine.read_machines), _name, True))]
Stacks = Annotated[list[str], PlainValidator(several("stacks", read_stacks_over, meaning_of_stack, most=LAYERS))]
Workloads = Annotated[list[str], PlainValidator(several("workloads", alone(read_workloads), meaning_of_workload))]
Profiles = Annotated[list[Profile], PlainValidator(several("profiles", alone(read_profiles), _name))]
Patterns = Annotated[list[cut.Pattern], PlainValidator(cut.read_patterns)]


class Lab(BaseModel):
    """Where a plan runs, and on which clock: a vm lab's is virtual unless it says otherwise, the native one's is real.

    With `auto` the clock is that of the vm lab, if it comes to that.
    """

    model_config = ConfigDict(extra="forbid")

    kind: Annotated[str, PlainValidator(known("lab", KINDS, LATER_KINDS))] = "vm"
    clock: Annotated[str, PlainValidator(known("clock", CLOCKS))] = ""

    @model_validator(mode="after")
    def _clock_of_kind(self) -> Self:
        if self.kind == "native" and self.clock == "virtual":
            raise MistakeAt(f'the {self.kind} lab has the real clock only: write "real", or take the vm lab', "clock")
        if not self.clock:
            self.clock = "real" if self.kind == "native" else "virtual"
        return self


class Plan(BaseModel):
    """A checked plan. Stacks and workloads are in their canonical spelling, profiles in SI units."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, PlainValidator(plan_name)]
    seed: Annotated[int, PlainValidator(whole_number("seed", 0, LARGEST_SEED))] = 1
    repeats: Annotated[int, PlainValidator(whole_number("repeats", 1, MOST_REPEATS))] = 1
    topology: Topologies = Field(default_factory=lambda: ["pair"])
    # Before the stacks: they must fit into its MTU.
    tuning: Tunings = Field(default_factory=lambda: [tuning.shipped()["default"]])
    machine: Machines = Field(default_factory=lambda: [machine.shipped()["full"]])
    stacks: Stacks
    workloads: Workloads
    profiles: Profiles = Field(default_factory=lambda: [shipped_profiles()["baseline"]])
    include: Patterns = Field(default_factory=list)
    exclude: Patterns = Field(default_factory=list)
    probes: Annotated[list[str] | None, PlainValidator(read_probes)] = None
    # Behind the repeats, the workloads and the probes: it must fit them.
    until: Annotated[Until | None, PlainValidator(read_until)] = None
    lab: Lab = Field(default_factory=Lab)

    @property
    def axes(self) -> dict[str, list[str]]:
        """The names of the values of each axis, in the order of expansion; the stacks have all their `none`."""
        return {
            "topology": self.topology,
            "tuning": [one.name for one in self.tuning],
            "machine": [one.name for one in self.machine],
            "profile": [one.name for one in self.profiles],
            "stack": compared(self.stacks),
            "workload": self.workloads,
        }

    @model_validator(mode="after")
    def _axes_fit(self) -> Self:
        slower = [one.name for one in self.machine if not one.full]
        if slower and self.lab.clock != "virtual":
            raise MistakeAt(
                f'"{slower[0]}" cannot be had on the {self.lab.clock} clock, because the model machine belongs to the '
                "virtual clock of the vm lab: run the plan there, or take the machine away",
                "machine",
            )
        axes = self.axes
        repeats = self.until.max if self.until else self.repeats
        number = repeats * math.prod(len(names) for axis, names in axes.items() if axis != "workload")
        if number > MOST_SHARDS:
            raise ValueError(
                f"the plan has {number} shards before any are cut, and at most {MOST_SHARDS} are allowed: "
                f"sweep over less, or lower {'max of until' if self.until else 'repeats'}"
            )
        if number * len(self.workloads) > MOST_TRIALS:
            raise ValueError(
                f"the plan has {number * len(self.workloads)} trials before any are cut, and at most {MOST_TRIALS} are "
                "allowed: sweep over less"
            )
        cut.check(axes, self.include, self.exclude)
        self._stacks_join(axes)
        return self

    def _stacks_join(self, axes: dict[str, list[str]]) -> None:
        """Raises MistakeAt where a stack cannot join the endpoints of a topology, and no cut takes that away."""
        left = [dict(zip(axes, region, strict=True)) for region in cut.regions(axes, self.include, self.exclude)]
        for shape, stack in product(self.topology, self.stacks):
            if (reason := misfit(stack, shape)) and any(
                shape in region["topology"] and stack in region["stack"] for region in left
            ):
                mend = f'take one of them away, or exclude = [{{ topology = "{shape}", stack = "{stack}" }}]'
                raise MistakeAt(f"{reason}: {mend}", "stacks")
