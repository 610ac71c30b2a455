"""A shard: the trials that share one boot of a lab."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from tunbench.plan.axes.machine import Machine
from tunbench.plan.axes.profile import Profile
from tunbench.plan.axes.reader import AxisValue
from tunbench.plan.axes.stack import PlannedStack
from tunbench.plan.axes.topology import Layout
from tunbench.plan.axes.tuning import Tuning
from tunbench.plan.axes.workload import Workload
from tunbench.runner.declare import axes
from tunbench.runner.declare.access import Accesses
from tunbench.runner.declare.link import Link


@dataclass(frozen=True)
class Shard:
    """One value of each of axes.SHARD, by its name, and one repeat, with all workloads in the plan's order."""

    values: Mapping[str, AxisValue]
    workloads: tuple[Workload, ...]
    repeat: int
    seed: int
    probes: tuple[str, ...] | None = None

    @property
    def stack(self) -> PlannedStack:
        """What is brought up."""
        return cast(PlannedStack, self.values["stack"])

    @property
    def profile(self) -> Profile:
        """What the network does to packets."""
        return cast(Profile, self.values["profile"])

    @property
    def layout(self) -> Layout:
        """The endpoints, and what joins them."""
        return cast(Layout, self.values["topology"])

    @property
    def link(self) -> Link:
        """What joins each endpoint to the network."""
        return cast(Link, self.values["link"])

    @property
    def access(self) -> Accesses:
        """What stands between each endpoint and the network."""
        return cast(Accesses, self.values["access"])

    @property
    def addons(self) -> list[str]:
        """The images that it needs beyond the base image, sorted."""
        return sorted({*self.access.addons, *(name for one in self.needing for name in one.addons)})

    @property
    def needing(self) -> tuple[PlannedStack | Workload, ...]:
        """What of it needs programs that not every shard has: its stack, and its workloads."""
        return (self.stack, *self.workloads)

    @property
    def memory(self) -> int:
        """What it takes of a VM's memory beyond the usual, in GiB."""
        return self.stack.memory + self.layout.memory

    @property
    def tuning(self) -> Tuning:
        """What the endpoints are told."""
        return cast(Tuning, self.values["tuning"])

    @property
    def machine(self) -> Machine:
        """The model machine."""
        return cast(Machine, self.values["machine"])

    # Cached: it takes a third of a millisecond, and is asked for often.
    @cached_property
    def id(self) -> str:
        """A name that follows from the content alone."""
        return hashlib.sha256(canonical(self.spec()).encode()).hexdigest()[:12]

    @cached_property
    def group(self) -> str:
        """What all repeats of the shard share: a name that follows from its content less repeat and seed."""
        same = {name: value for name, value in self.spec().items() if name not in ("repeat", "seed")}
        return hashlib.sha256(canonical(same).encode()).hexdigest()[:12]

    def spec(self) -> dict[str, Any]:
        """What the runner gets: all that the shard depends on, and nothing else."""
        values = axes.said({axis: self.values[axis].spec() for axis in axes.SHARD})
        return {
            "stack": values.pop("stack"),
            "underlay": self.stack.underlay,
            **values,
            "workloads": [one.name for one in self.workloads],
            "repeat": self.repeat,
            "seed": self.seed,
            # Without the key, all probes are on.
            **({} if self.probes is None else {"probes": sorted(self.probes)}),
        }

    def cell_of(self, workload: str) -> dict[str, Any]:
        """The columns of a sample that say which trial it is from."""
        names = {axis: self.values[axis].name for axis in axes.SHARD}
        return {**names, "workload": workload, "repeat": self.repeat, "seed": self.seed}


def needing_of(shards: Iterable[Shard]) -> set[PlannedStack | Workload]:
    """What of these shards needs programs that not every shard has."""
    return {one for shard in shards for one in shard.needing}


def seed_of_repeat(seed: int, repeat: int) -> int:
    """The seed of the boots of one repeat: 31 bits of SHA-256 over the plan's seed and the repeat's number."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{repeat}".encode()).digest()[:4], "big") >> 1


def canonical(value: Any) -> str:
    """JSON in its one form: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
