"""Puts a profile's impairments where its placement says: one netem a direction, and what the kernel made of it."""

from collections.abc import Mapping
from typing import Any

from tunbench.runner.declare.netem_terms import Terms
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.network import link_command, netem_command, netem_report, qdiscs, wires
from tunbench.runner.network.drops import Place
from tunbench.runner.network.underlay import Interface, Underlay
from tunbench.runner.network.wires import Entrance
from tunbench.runner.node.events import Events
from tunbench.runner.node.node import Node


def impair(
    profile: Mapping[str, Any],
    underlay: Underlay,
    overlay: Mapping[str, Overlay],
    nodes: Mapping[str, Node],
    events: Events,
) -> list[Place]:
    """Applies a profile and tells what the kernel installed; the places where packets can vanish now.

    The way from the first endpoint of the first pair, and between all others, has the terms of `forward`; the way to
    it, of `reverse`. Raises Unsupported and CommandFailed.
    """
    into = {one.interface: one for one in wires.entrances(underlay)}
    places = {one: _place(one, {}, into, nodes) for one in into}
    at_endpoints = profile["placement"] == "endpoints"
    for one, direction in _interfaces(profile["placement"], underlay, overlay):
        place = _place(one, profile[direction], into, nodes)
        # There netem is the queue of the interface, as in a test bed that has it there.
        held = underlay.link.up.queue_packets if at_endpoints else 0
        installed = apply(place.node, place.queue or place.interface, place.terms, into.get(one), held)
        if installed:
            places[one] = place
            asked = dict(place.terms)
            events.tell("impairment", node=one.node, interface=one.name, asked=asked, installed=installed)
        for deviation in netem_report.deviations(place.terms, installed):
            events.tell("warning", name=WarningKind.NETEM_DIFFERS, text=f"{place.name}: {deviation}")
    return list(places.values())


def _place(interface: Interface, terms: Terms, into: Mapping[Interface, Entrance], nodes: Mapping[str, Node]) -> Place:
    node, entered = nodes[interface.node], into.get(interface)
    if not entered:
        return Place(node, interface.name, terms)
    return Place(node, interface.name, terms, entered.way, (nodes[entered.end.node], entered.end.name), entered.queue)


def _interfaces(placement: str, underlay: Underlay, overlay: Mapping[str, Overlay]) -> list[tuple[Interface, str]]:
    """Where netem sits, and the direction whose terms it gets."""
    first = underlay.topology.pairs[0].first
    if placement == "router":
        others = [name for name in underlay.endpoints if name != first]
        there = [(underlay.towards[name], "forward") for name in others]
        return [*there, (underlay.towards[first], "reverse")]
    own = underlay.endpoints if placement == "endpoints" else overlay
    back = [(Interface(name, own[name].interface), "reverse") for name in own if name != first]
    return [(Interface(first, own[first].interface), "forward"), *back]


def apply(node: Node, interface: str, terms: Terms, entered: Entrance | None = None, held: int = 0) -> dict[str, Any]:
    """Puts netem on an interface, before the rate of the link that packets enter there.

    Returns what `tc` says of it, and beside it the `terms` that it has become. Raises Unsupported, CommandFailed.
    """
    if not netem_command.acts(terms):
        return {}
    link = (entered.link, entered.way) if entered else ()
    qdiscs.install(node, link_command.impaired(interface, netem_command.arguments(terms, held), *link))
    qdisc = installed(node, interface)
    return {**qdisc, "terms": netem_report.read_back(qdisc)} if qdisc else {}


def installed(node: Node, interface: str) -> dict[str, Any]:
    """What `tc` says of the netem on an interface: its options in SI units, and its counters."""
    return qdiscs.on(node, interface).get("netem", {})
