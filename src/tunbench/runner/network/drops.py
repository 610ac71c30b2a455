"""Tells where packets vanished while a workload lasted: in netem, by its loss or for want of room, or in a queue."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tunbench.runner.declare.link import FIFO, Direction
from tunbench.runner.declare.netem_terms import Terms
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.network import link_command, netem_report, qdiscs
from tunbench.runner.node.events import Events
from tunbench.runner.node.node import Node

Counters = Mapping[str, int]


class Place(NamedTuple):
    """An interface where packets can vanish: the terms of its netem, if it has one, and the link's direction behind.

    `end` is where packets come out of the link, which a policer looks at. The qdiscs are those of `queue`, which is the
    interface itself unless packets are led through another one before it.
    """

    node: Node
    interface: str
    terms: Terms
    direction: Direction | None = None
    end: tuple[Node, str] | None = None
    queue: str = ""

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
    there = qdiscs.on(place.node, place.queue or place.interface)
    link, netem = _of_link(place, there), qdiscs.counters(there.get("netem", {}))
    if place.terms and place.direction and not place.direction.polices:
        netem = {**netem, "drops": max(0, netem["drops"] - link["drops"]), "packets": netem["packets"] + link["drops"]}
    return {"netem": netem, "link": link}


def _of_link(place: Place, there: Mapping[str, Any]) -> dict[str, int]:
    """What the shaper or the policer of a link has counted, and the marks of a queue that marks."""
    way = place.direction or Direction()
    if way.polices and place.end:
        return qdiscs.counters(qdiscs.policer(*place.end), qdiscs.OF_POLICER)
    counted = qdiscs.counters(there.get(link_command.shaper_kind(way), {}))
    return counted if way.queue == FIFO else {**counted, "marks": qdiscs.marks(there.get(way.queue, {}))}


def _since(now: Counters, before: Counters) -> dict[str, int]:
    """What was counted in between; what is held is what is held now."""
    return {name: value if name == "qlen" else value - before[name] for name, value in now.items()}


def _warnings(place: Place, since: Mapping[str, Counters]) -> list[tuple[WarningKind, str]]:
    found = []
    if place.terms and (text := netem_report.overflow(place.terms, since["netem"])):
        found.append((WarningKind.NETEM_LIMIT, text))
    if place.direction and (dropped := since["link"]["drops"]):
        offered = dropped + since["link"]["packets"]
        text = f"{dropped} of {offered} packets {_why(place.direction)}, at {place.direction.rate / 1e6:g} Mbit/s"
        found.append((WarningKind.QUEUE_DROPS, text))
    return found


def _why(way: Direction) -> str:
    """Why packets were dropped where they enter a direction of a link."""
    if way.polices:
        return f"found no token in the link's policer of {way.burst} B"
    if way.queue != FIFO:
        return f"were dropped by the link's {way.queue}"
    held = f"{way.queue_seconds:g} s" if way.queue_seconds else f"{way.queue_packets} packets"
    return f"found the link's queue of {held} full"
