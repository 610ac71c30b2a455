"""A shard: the trials that share one boot of a lab."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tunbench.runner import registry
from tunbench.runner.declare import spelling
from tunbench.runner.network.underlay import MTU

FULL_SPEED = 1000
"""Million instructions a second of the full model machine."""


@dataclass(frozen=True)
class Profile:
    """An impairment of the underlay. `forward` and `reverse` map netem's terms to SI units and words."""

    name: str
    forward: Mapping[str, float | str]
    reverse: Mapping[str, float | str]
    placement: str = "router"


@dataclass(frozen=True)
class Tuning:
    """What the endpoints are told: sysctls, congestion control (empty: the kernel's own), offloads; MTU in bytes."""

    name: str
    sysctl: Mapping[str, str] = field(default_factory=dict)
    congestion: str = ""
    offloads: Mapping[str, bool] = field(default_factory=dict)
    mtu: int = MTU

    def spec(self) -> dict[str, Any]:
        """The tuning as the runner gets it."""
        return {
            "name": self.name,
            "sysctl": dict(sorted(self.sysctl.items())),
            "congestion": self.congestion,
            "offloads": dict(sorted(self.offloads.items())),
            "mtu": self.mtu,
        }


@dataclass(frozen=True)
class Machine:
    """The model machine: features that its processor lacks, sorted, and its speed in million instructions a second."""

    name: str
    without: tuple[str, ...] = ()
    speed: int = FULL_SPEED

    @property
    def full(self) -> bool:
        """Whether nothing is taken away."""
        return not self.without and self.speed == FULL_SPEED

    def spec(self) -> dict[str, Any]:
        """The machine as the shard names it."""
        return {"name": self.name, "without": list(self.without), "speed": self.speed}


@dataclass(frozen=True)
class Shard:
    """One stack, profile, topology, tuning, machine and repeat, with all workloads in the plan's order."""

    stack: str
    profile: Profile
    workloads: tuple[str, ...]
    repeat: int
    seed: int
    topology: str = "pair"
    tuning: Tuning = Tuning("default")
    machine: Machine = Machine("full")
    probes: tuple[str, ...] | None = None

    @property
    def underlay(self) -> str:
        """`ethernet` where the stack needs a bridge, else `ip` or `ip6`."""
        return needed_underlay(self.stack)

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
        return {
            "stack": self.stack,
            "underlay": self.underlay,
            "profile": {
                "name": self.profile.name,
                "placement": self.profile.placement,
                "forward": dict(sorted(self.profile.forward.items())),
                "reverse": dict(sorted(self.profile.reverse.items())),
            },
            "topology": self.topology,
            "tuning": self.tuning.spec(),
            "machine": self.machine.spec(),
            "workloads": list(self.workloads),
            "repeat": self.repeat,
            "seed": self.seed,
            # Without the key, all probes are on.
            **({} if self.probes is None else {"probes": sorted(self.probes)}),
        }

    def cell_of(self, workload: str) -> dict[str, Any]:
        """The columns of a sample that say which trial it is from."""
        return {
            "stack": self.stack,
            "profile": self.profile.name,
            "topology": self.topology,
            "tuning": self.tuning.name,
            "machine": self.machine.name,
            "workload": workload,
            "repeat": self.repeat,
            "seed": self.seed,
        }


def seed_of_repeat(seed: int, repeat: int) -> int:
    """The seed of the boots of one repeat: 31 bits of SHA-256 over the plan's seed and the repeat's number."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{repeat}".encode()).digest()[:4], "big") >> 1


def canonical(value: Any) -> str:
    """JSON in its one form: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def needed_underlay(stack: str) -> str:
    """`ethernet` where the lowest layer of the stack needs a bridge, else `ip` or `ip6`."""
    lowest = spelling.stack(stack)[0]
    about = registry.tunnel(lowest.name).about
    if about.needs_underlay == "ip" and lowest.options.get("outer") == "ipv6":
        return "ip6"
    return lowest.options.get("underlay", about.needs_underlay)
