"""What to beware of in the conditions of a plan: known before it runs, and told beside its results."""

from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from typing import NamedTuple

from tunbench.plan.axes.link import shipped as shipped_links
from tunbench.plan.axes.machine import FULL_SPEED, MAX_SPEED, Machine
from tunbench.plan.axes.machine import shipped as shipped_machines
from tunbench.plan.axes.profile import Profile
from tunbench.plan.shard import Shard
from tunbench.runner.declare import spelling
from tunbench.runner.declare.access import NO_GATEWAYS, Accesses
from tunbench.runner.declare.link import Link
from tunbench.runner.declare.netem_terms import number
from tunbench.runner.declare.topology import PAIR
from tunbench.runner.declare.tunnel import BARE
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.stack import declared

LOSSES = ("loss", "gemodel_p", "state_p13", "state_p14")
"""Terms by which netem drops packets."""

JUDGEMENTS = (*LOSSES, "jitter", "reorder", "duplicate", "corrupt")
"""Terms by which netem judges each packet on its own."""

LEAST_BASE_ROUND_TRIP = 1e-4
"""Seconds of a base round trip below which jitter is judged by a TCP that waits next to nothing."""

SERVED_BITS_A_MILLION_INSTRUCTIONS = 450_000
"""Bits of TCP that a million instructions carry over the bare underlay and a link with a rate.

Measured: 903 Mbit/s behind 1 Gbit/s at 2,000 million instructions a second, the processor busy for 98 % of the time
(one seed, QEMU 7.2, Linux 6.1.192, 2026-11-26). Without a rate, 1,087 Mbit/s were carried at 1,000."""

HASHED_BY_INSTRUCTIONS = ("sha1", "sha256")
"""What the SHA extensions of x86-64 compute; for SHA-512 hardly a processor has instructions."""

MAX_NAMED = 3
"""Conditions that a line names at most."""


class Condition(NamedTuple):
    """What a shard is under, as far as it decides on what to beware of; on the real clock the machine is no model."""

    profile: Profile
    link: Link
    machine: Machine | None
    access: Accesses = NO_GATEWAYS
    endpoints: tuple[str, ...] = PAIR.endpoints
    stack: str = BARE

    @property
    def of_network(self) -> str:
        """The names of profile and link."""
        return f"{self.profile.name} over {self.link.name}"

    @property
    def of_path(self) -> str:
        """The names of profile, link and access."""
        return self.of_network + self._and_access

    @property
    def of_machine(self) -> str:
        """The names of machine, link and access."""
        return f"{self.machine.name if self.machine else ''} behind {self.link.name}{self._and_access}"

    @property
    def base_round_trip(self) -> float:
        """Seconds of a round trip between the two endpoints that are nearest to each other, where nothing waits."""
        there = map(self.access.of_endpoint, self.endpoints)
        return self.link.base_round_trip + sum(sorted(one.base_round_trip if one else 0.0 for one in there)[:2])

    @property
    def _and_access(self) -> str:
        return f" and {self.access.name}" if self.access.all else ""


class Caution(NamedTuple):
    """A warning of a plan: its kind, the conditions that it is of in words, and what was found."""

    kind: WarningKind
    where: str
    text: str


def cautions(conditions: Iterable[Condition]) -> list[Caution]:
    """What to beware of in these conditions, each once."""
    return list(dict.fromkeys(found for one in conditions for found in _of(one)))


def lines(shards: Iterable[Shard], clock: str) -> list[str]:
    """One line for each kind of caution of a plan, with its mend."""
    virtual = clock == "virtual"
    conditions = [
        Condition(
            shard.profile,
            shard.link,
            shard.machine if virtual else None,
            shard.access,
            shard.layout.topology.endpoints,
            shard.stack.name,
        )
        for shard in shards
    ]
    found: dict[WarningKind, dict[str, list[str]]] = {}
    for one in cautions(
        {(one.of_network, one.of_machine, one.endpoints, one.stack): one for one in conditions}.values()
    ):
        found.setdefault(one.kind, {}).setdefault(one.text, []).append(one.where)
    return [
        f"{kind}: {_listed([f'{_listed(where)}: {text}' for text, where in texts.items()], '; ')}. {kind.mend}"
        for kind, texts in found.items()
    ]


def _listed(names: Sequence[str], between: str = ", ") -> str:
    """The first of several names or findings, and how many more there are."""
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return between.join(names[:MAX_NAMED]) + more


def judges_bundles(profile: Profile, link: Link, terms: Iterable[str] = JUDGEMENTS) -> bool:
    """Whether netem judges bundles of packets by any of these terms, each bundle as one.

    A rate sends packets one by one, so that a netem behind it gets no bundle.
    """
    asked = any(number(way, name) for way in (profile.forward, profile.reverse) for name in terms)
    return asked and (profile.placement != "router" or not (link.cuts or link.up.rate))


def _of(one: Condition) -> Iterator[Caution]:
    if judges_bundles(one.profile, one.link):
        above = f"netem sits above the cut ({one.profile.placement})" if one.profile.placement != "router" else ""
        uncut = "" if one.link.cuts else "the link cuts none"
        text = f"{', and '.join(filter(None, (above, uncut)))}; no ratio to none is given where packets are lost"
        yield Caution(WarningKind.GSO_AGGREGATES, one.of_network, text)
    if _jitter(one.profile) and one.base_round_trip < LEAST_BASE_ROUND_TRIP:
        text = f"a round trip takes {one.base_round_trip * 1e6:g} µs at least"
        yield Caution(WarningKind.NO_BASE_ROUND_TRIP, one.of_path, text)
    for kind, text in (
        _of_machine([one.link, *(access.link for access in one.access.all)], one.machine) if one.machine else ()
    ):
        yield Caution(kind, one.of_machine, text)
    # What a machine is without, the one that it stands for lacks, and that is an old or a small one.
    if one.machine and not one.machine.without:
        for hmac in _hashes(one.stack):
            text = f"each packet has an HMAC by {hmac}"
            yield Caution(WarningKind.NO_SHA_INSTRUCTIONS, f"{one.stack} on {one.machine.name}", text)


def _hashes(text: str) -> list[str]:
    """The hashes by SHA that a packet of a stack has, each once; of a stranger's stack nothing is known."""
    try:
        abouts = [declared(part) for part in spelling.stack(text)]
    except ValueError:
        return []
    return [name for name in HASHED_BY_INSTRUCTIONS if name in {about.hmac for about in abouts}]


def _of_machine(links: Sequence[Link], machine: Machine) -> Iterator[tuple[WarningKind, str]]:
    rates = [way.rate for link in links for way in (link.up, link.down) if way.rate]
    served = machine.speed * SERVED_BITS_A_MILLION_INSTRUCTIONS
    if machine.speed > FULL_SPEED and not rates:
        text = f"{machine.speed} million instructions a second, and no rate: {_fitting(machine, served)}"
        yield WarningKind.UNSPREAD_BURSTS, text
    if rates and min(rates) > served:
        least = ceil(min(rates) / SERVED_BITS_A_MILLION_INSTRUCTIONS)
        beyond = f"more than the fastest one, {MAX_SPEED}, so that only a slower link helps"
        need = f"a speed of {least}" if least <= MAX_SPEED else beyond
        text = f"the machine carries some {_megabits(served)} Mbit/s at most: {min(rates) / 1e6:.10g} need {need}"
        yield WarningKind.RATE_NOT_SERVED, text


def _fitting(machine: Machine, served: float) -> str:
    """The shipped link that a machine had in its test bed, or else the fastest one that it serves, in words."""
    if machine.name in shipped_machines() and machine.name in shipped_links():
        return f'link = "{machine.name}" is that of its test bed'
    serves = [one for one in shipped_links().values() if one.up.rate and one.up.rate <= served]
    return f'link = "{max(serves, key=lambda link: link.up.rate).name}" is the fastest shipped one that it serves'


def _megabits(rate: float) -> str:
    """Mbit/s in three digits, without an exponent."""
    return f"{float(f'{rate / 1e6:.3g}'):.10g}"


def _jitter(profile: Profile) -> bool:
    return any(number(way, "jitter") or number(way, "reorder") for way in (profile.forward, profile.reverse))
