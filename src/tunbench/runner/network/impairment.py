"""Puts a profile's impairments where its placement says: one netem a direction, and what the kernel made of it."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tunbench.runner.declare.failures import Unsupported
from tunbench.runner.declare.netem_terms import Terms
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.network import netem_command, netem_report
from tunbench.runner.network.underlay import Underlay
from tunbench.runner.node.command import CommandFailed
from tunbench.runner.node.events import Events
from tunbench.runner.node.node import Node


class Impaired(NamedTuple):
    """An interface of a node that has a netem, and the terms of that."""

    node: Node
    interface: str
    terms: Terms

    @property
    def place(self) -> str:
        """What stands in a warning."""
        return f"{self.node.name}/{self.interface}"


def impair(
    profile: Mapping[str, Any],
    underlay: Underlay,
    overlay: Mapping[str, Overlay],
    nodes: Mapping[str, Node],
    events: Events,
) -> list[Impaired]:
    """Applies a profile and tells what the kernel installed; the interfaces that have a netem now.

    The way from the first endpoint, and between all others, has the terms of `forward`; the way to it, of `reverse`.
    Raises Unsupported and CommandFailed.
    """
    impaired = []
    for name, interface, direction in _places(profile["placement"], underlay, overlay):
        one = Impaired(nodes[name], interface, profile[direction])
        installed = apply(*one)
        if installed:
            impaired.append(one)
            events.tell("impairment", node=name, interface=interface, asked=dict(one.terms), installed=installed)
        for deviation in netem_report.deviations(one.terms, installed):
            events.tell("warning", name=WarningKind.NETEM_DIFFERS, text=f"{one.place}: {deviation}")
    return impaired


def check_queues(impaired: list[Impaired], events: Events) -> None:
    """Tells netem's counters, and warns where it dropped more than its loss explains: its queue was full."""
    for one in impaired:
        qdisc = installed(one.node, one.interface)
        counters = netem_report.counters(qdisc)
        events.tell("queue", node=one.node.name, interface=one.interface, counters=counters)
        if text := netem_report.overflow(one.terms, qdisc):
            events.tell("warning", name=WarningKind.NETEM_LIMIT, text=f"{one.place}: {text}")


def _places(placement: str, underlay: Underlay, overlay: Mapping[str, Overlay]) -> list[tuple[str, str, str]]:
    """Where netem sits: the node, the interface, and the direction whose terms it gets."""
    first, *others = underlay.endpoints
    if placement == "router":
        there = [(*underlay.towards[name], "forward") for name in others]
        return [*there, (*underlay.towards[first], "reverse")]
    own = underlay.endpoints if placement == "endpoints" else overlay
    back = [(name, own[name].interface, "reverse") for name in others]
    return [(first, own[first].interface, "forward"), *back]


def apply(node: Node, interface: str, terms: Terms) -> dict[str, Any]:
    """Puts netem on an interface. Returns what `tc` says of it, and beside it the `terms` that it has become.

    Raises Unsupported, CommandFailed.
    """
    if not netem_command.acts(terms):
        return {}
    try:
        node.run("tc", "qdisc", "replace", "dev", interface, "root", "netem", *netem_command.arguments(terms))
    except CommandFailed as error:
        if "qdisc kind is unknown" in error.result.stderr:
            raise Unsupported("this kernel has no netem (module sch_netem)") from None
        if "No distribution data" in error.result.stderr:
            raise Unsupported("iproute2's tables of distributions are not there") from None
        raise
    qdisc = installed(node, interface)
    return {**qdisc, "terms": netem_report.read_back(qdisc)} if qdisc else {}


def installed(node: Node, interface: str) -> dict[str, Any]:
    """What `tc` says of the netem on an interface: its options in SI units, and its counters."""
    return netem_report.netem_of(node.ask("tc", "-s", "-j", "qdisc", "show", "dev", interface).stdout)
