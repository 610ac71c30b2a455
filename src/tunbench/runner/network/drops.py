"""Tells where packets vanished while a workload lasted: in netem, by its loss or for want of room, or in a queue."""

from collections.abc import Mapping
from typing import NamedTuple

from tunbench.runner.declare.link import Direction
from tunbench.runner.declare.netem_terms import Terms
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.network import netem_report, qdiscs
from tunbench.runner.node.events import Events
from tunbench.runner.node.node import Node

Counters = Mapping[str, int]


class Place(NamedTuple):
    """An interface where packets can vanish: the terms of its netem, if it has one, and the link's direction behind."""

    node: Node
    interface: str
    terms: Terms
    direction: Direction | None = None

    @property
    def name(self) -> str:
        """What stands in a warning."""
        return f"{self.node.name}/{self.interface}"


class Watch:
    """The places of a shard, and what each had counted when it was looked at last."""

    def __init__(self, places: list[Place]) -> None:
        self.places = places
        self.before = {place.name: _count(place) for place in places}

    def tell(self, workload: str, events: Events) -> None:
        """Tells what each place has counted during a workload, and warns of what was dropped for want of room."""
        for place in self.places:
            now, before = _count(place), self.before[place.name]
            since = {kind: _since(count, before[kind]) for kind, count in now.items()}
            self.before[place.name] = now
            events.tell("queue", node=place.node.name, interface=place.interface, workload=workload, counters=since)
            for kind, text in _warnings(place, since):
                events.tell("warning", name=kind, text=f"{workload}: {place.name}: {text}")


def _count(place: Place) -> dict[str, Counters]:
    """The counters of netem and of the link's shaper. netem counts as its own what the shaper behind it dropped."""
    there = qdiscs.on(place.node, place.interface)
    link, netem = qdiscs.counters(there.get("tbf", {})), qdiscs.counters(there.get("netem", {}))
    if place.terms and place.direction:
        netem = {**netem, "drops": max(0, netem["drops"] - link["drops"]), "packets": netem["packets"] + link["drops"]}
    return {"netem": netem, "link": link}


def _since(now: Counters, before: Counters) -> dict[str, int]:
    """What was counted in between; what is held is what is held now."""
    return {name: value if name == "qlen" else value - before[name] for name, value in now.items()}


def _warnings(place: Place, since: Mapping[str, Counters]) -> list[tuple[WarningKind, str]]:
    found = []
    if place.terms and (text := netem_report.overflow(place.terms, since["netem"])):
        found.append((WarningKind.NETEM_LIMIT, text))
    if place.direction and (dropped := since["link"]["drops"]):
        offered = dropped + since["link"]["packets"]
        queue = place.direction
        held = f"{queue.queue_seconds:g} s" if queue.queue_seconds else f"{queue.queue_packets} packets"
        text = f"{dropped} of {offered} packets found the link's queue of {held} full, at {queue.rate / 1e6:g} Mbit/s"
        found.append((WarningKind.QUEUE_DROPS, text))
    return found
