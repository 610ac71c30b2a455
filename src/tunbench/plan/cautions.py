"""What to beware of in the conditions of a plan: known before it runs, and told beside its results."""

from collections.abc import Iterable, Iterator
from math import ceil
from typing import NamedTuple

from tunbench.plan.axes.machine import FULL_SPEED, Machine
from tunbench.plan.axes.profile import Profile
from tunbench.plan.shard import Shard
from tunbench.runner.declare import axes
from tunbench.runner.declare.link import Link
from tunbench.runner.declare.netem_terms import number
from tunbench.runner.declare.warnings import WarningKind

LOSSES = ("loss", "gemodel_p", "state_p13", "state_p14")
"""Terms by which netem drops packets."""

JUDGEMENTS = (*LOSSES, "jitter", "reorder", "duplicate", "corrupt")
"""Terms by which netem judges each packet on its own."""

LEAST_BASE_ROUND_TRIP = 1e-4
"""Seconds of a base round trip below which jitter is judged by a TCP that waits next to nothing."""

SERVED_BITS_A_MILLION_INSTRUCTIONS = 900
"""Bits of TCP that a million instructions carry over the bare underlay and a link that cuts and has a rate.

Measured without a rate: 1,087 Mbit/s at 1,000 million instructions a second (QEMU 7.2, Linux 6.1.192, 2026-11-26)."""


class Condition(NamedTuple):
    """What a shard is under, as far as it decides on what to beware of; on the real clock the machine is no model."""

    profile: Profile
    link: Link
    machine: Machine | None

    @property
    def name(self) -> str:
        """The profile, and what else is not as usual."""
        others = {"link": self.link, "machine": self.machine}
        special = [f"{axis}={one.name}" for axis, one in others.items() if one and one.name != axes.USUAL[axis]]
        return ", ".join([self.profile.name, *special])


class Caution(NamedTuple):
    """A warning of a plan: its kind, the condition that it is of, and what was found."""

    kind: WarningKind
    where: str
    text: str


def cautions(conditions: Iterable[Condition]) -> list[Caution]:
    """What to beware of in these conditions, each once."""
    found = (Caution(kind, one.name, text) for one in conditions for kind, text in _of(one))
    return list(dict.fromkeys(found))


def lines(shards: Iterable[Shard], clock: str) -> list[str]:
    """One line for each kind of caution of a plan, with its mend."""
    virtual = clock == "virtual"
    conditions = (Condition(shard.profile, shard.link, shard.machine if virtual else None) for shard in shards)
    found: dict[WarningKind, list[Caution]] = {}
    for one in cautions({one.name: one for one in conditions}.values()):
        found.setdefault(one.kind, []).append(one)
    return [
        f"{kind}: {'; '.join(f'{one.where}: {one.text}' for one in ones)}. {kind.mend}" for kind, ones in found.items()
    ]


def judges_bundles(profile: Profile, link: Link, terms: Iterable[str] = JUDGEMENTS) -> bool:
    """Whether netem judges bundles of packets by any of these terms, each bundle as one."""
    asked = any(number(way, name) for way in (profile.forward, profile.reverse) for name in terms)
    return asked and (not link.cuts or profile.placement != "router")


def _of(one: Condition) -> Iterator[tuple[WarningKind, str]]:
    if judges_bundles(one.profile, one.link):
        why = "the link cuts none" if not one.link.cuts else f"netem sits above the cut ({one.profile.placement})"
        yield WarningKind.GSO_AGGREGATES, f"{why}; no ratio to none is given where packets are lost"
    if _jitter(one.profile) and one.link.base_round_trip < LEAST_BASE_ROUND_TRIP:
        yield WarningKind.NO_BASE_ROUND_TRIP, f"a round trip takes {one.link.base_round_trip * 1e6:g} µs at least"
    if one.machine:
        yield from _of_machine(one.link, one.machine)


def _of_machine(link: Link, machine: Machine) -> Iterator[tuple[WarningKind, str]]:
    rates = [way.rate for way in (link.up, link.down) if way.rate]
    if machine.speed > FULL_SPEED and not rates:
        yield WarningKind.UNSPREAD_BURSTS, f"{machine.speed} million instructions a second, and no rate"
    served = machine.speed * SERVED_BITS_A_MILLION_INSTRUCTIONS * 1e3
    if rates and min(rates) > served:
        least = ceil(min(rates) / (SERVED_BITS_A_MILLION_INSTRUCTIONS * 1e3))
        text = (
            f"the machine carries some {served / 1e6:.3g} Mbit/s at most: {min(rates) / 1e6:g} need a speed of {least}"
        )
        yield WarningKind.RATE_NOT_SERVED, text


def _jitter(profile: Profile) -> bool:
    return any(number(way, "jitter") or number(way, "reorder") for way in (profile.forward, profile.reverse))
