"""A synthetic record of five stacks under a load and events: what somebody has who looks at a page."""

import random
from collections.abc import Sequence
from typing import Any

from tests.helpers.records import PING, TCP, UP, cell, record, spent, trial
from tunbench.journal.record import Record, TrialResult

STACKS = {"none": 1.0, "gre": 0.98, "wireguard": 0.9, "wireguard+vxlan": 0.85, "openvpn:cipher=AES-256-GCM": 0.7}
"""The share of a line that each stack carries."""

LINE = 40e6

LOADED = "loaded-latency:direction=both"
EVENTS = ("recover:event=link", "recover:event=restart")

DELAYS = {"baseline": 1e-3, "wan": 20e-3}
"""Seconds of a round trip."""


def five(repeats: int, profiles: Sequence[str] = tuple(DELAYS)) -> Record:
    """Five stacks, two profiles at most, a flow, pings, a load in both directions, and two events."""
    rng = random.Random(1)
    trials = [
        one
        for repeat in range(1, repeats + 1)
        for profile in profiles
        for stack in STACKS
        for one in _shard(stack, profile, repeat, rng)
    ]
    return record(trials, durations={"boot": 243.0, "up": 61.0, "proof": 8.0, "trial": 1290.0, "down": 4.0})


def _shard(stack: str, profile: str, repeat: int, rng: random.Random) -> list[TrialResult]:
    rate, trip = LINE * STACKS[stack] * rng.gauss(1, 0.03), DELAYS[profile] / STACKS[stack]
    flow: list[tuple[Any, ...]] = [("throughput", "bit/s", rate * rng.gauss(1, 0.1), float(at)) for at in range(10)]
    flow += [("tcp-rtt", "s", trip * rng.gauss(2, 0.2), float(at)) for at in range(10)]
    echoes = [("rtt", "s", trip * rng.gauss(1, 0.02), number / 100) for number in range(100)]
    return [
        trial(cell(stack, profile, UP, repeat), [("connect", "s", 0.02 / STACKS[stack] ** 9)]),
        trial(cell(stack, profile, TCP, repeat), [*flow, ("throughput", "bit/s", rate), *spent("gre", repeat)]),
        trial(cell(stack, profile, PING, repeat), [*echoes, ("loss", "ratio", 0.0)]),
        trial(cell(stack, profile, LOADED, repeat), _loaded(rate, trip, rng)),
        *(trial(cell(stack, profile, one, repeat), _events(one, stack, rng)) for one in EVENTS if stack != "none"),
    ]


def _loaded(rate: float, trip: float, rng: random.Random) -> list[tuple[Any, ...]]:
    samples: list[tuple[Any, ...]] = [("throughput-both", "bit/s", rate)]
    for phase, start, times in (("idle", 0.0, 1), ("both", 2.5, 4)):
        values = [trip * times * rng.gauss(1, 0.1) for _ in range(200)]
        samples += [(f"rtt-{phase}", "s", value, start + at / 100) for at, value in enumerate(values)]
        samples.append((f"loss-{phase}", "ratio", 0.0))
    return samples


def _events(workload: str, stack: str, rng: random.Random) -> list[tuple[Any, ...]]:
    samples: list[tuple[Any, ...]] = []
    for number in range(3):
        recovery = 0.3 * rng.random() / STACKS[stack] ** 4
        cut = workload == EVENTS[0]
        samples += [("blocked", "s", recovery + cut, 4.0 * number), ("lost", "count", 100.0, 4.0 * number)]
        if cut:
            samples += [("outage", "s", 1.0, 4.0 * number), ("recovery", "s", recovery, 4.0 * number)]
    return samples
