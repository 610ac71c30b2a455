"""Makes wires of virtual Ethernet: what leaves a node is cut into packets, takes its time, and passes at a rate."""

from collections.abc import Mapping
from pathlib import Path

from tunbench.runner.declare.failures import Unsupported
from tunbench.runner.declare.link import Direction
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.network import link_command, qdiscs
from tunbench.runner.network.underlay import EDGE, Interface, Underlay
from tunbench.runner.node.events import Events
from tunbench.runner.node.node import ROOT_NODE, Node

SEGMENTATION_OFFLOADS = ("tso", "gso", "tx-udp-segmentation")
"""What hands bundles of packets on uncut. TCP goes on to make them: the kernel cuts them as they leave the interface,
as it does above a network card that cannot."""

NEGLIGIBLE_DELAY_SECONDS = 1e-3
"""A base delay below which a lab without netem goes on without it: nothing that needs netem can be asked of it."""


def build(underlay: Underlay, nodes: Mapping[str, Node], events: Events) -> None:
    """Makes the links of the leaves what the underlay's link says. Raises Unsupported, CommandFailed."""
    leaves = {name: leaf for name, leaf in underlay.leaves.items() if name != EDGE}
    if underlay.link.cuts:
        if not nodes[underlay.middle].has("ethtool"):
            mend = 'install it, or name the link "aggregates", which cuts nothing'
            raise Unsupported(f"the program ethtool is not installed, which has packets cut: {mend}")
        for name, leaf in leaves.items():
            cut(nodes[name], leaf.interface)
    if underlay.link.crossing_delay:
        _delay(underlay, list(leaves), nodes, events)
    _shape(underlay, nodes, events)


def cut(node: Node, interface: str) -> None:
    """Has what leaves an interface cut into packets of its MTU. Raises CommandFailed."""
    node.run("ethtool", "-K", interface, *(word for name in SEGMENTATION_OFFLOADS for word in (name, "off")))


def shaped(underlay: Underlay) -> dict[Interface, Direction]:
    """The interfaces where packets enter a link that has a rate, and the direction of it that they enter."""
    link = underlay.link
    into = {Interface(name, leaf.interface): link.up for name, leaf in underlay.endpoints.items()}
    into |= {underlay.towards[name]: link.down for name in underlay.endpoints}
    return {interface: direction for interface, direction in into.items() if direction.rate}


def _delay(underlay: Underlay, leaves: list[str], nodes: Mapping[str, Node], events: Events) -> None:
    middle, seconds = nodes[underlay.middle], underlay.link.crossing_delay
    try:
        if not _has_ifb(nodes[ROOT_NODE]):
            raise Unsupported("this kernel has no delay for a link (module ifb)")
        middle.ip(*(f"link add from-{leaf} up type ifb" for leaf in leaves))
        qdiscs.install(middle, [line for leaf in leaves for line in link_command.delay(leaf, seconds)])
    except Unsupported as lacking:
        if seconds > NEGLIGIBLE_DELAY_SECONDS:
            raise
        text = f"{lacking}: round trips are {2e6 * seconds:.0f} µs shorter"
        events.tell("warning", name=WarningKind.LINK_DIFFERS, text=text)


def _has_ifb(machine: Node) -> bool:
    """Whether the kernel has interfaces that packets are led through, as a module that is loaded here if need be."""
    loaded = Path("/sys/module/ifb")
    # Asked for by name alone, the module would bring two interfaces that nobody wants.
    if machine.exists(loaded):
        return True
    if machine.has("modprobe") and machine.ask("modprobe", "ifb", "numifbs=0").status == 0:
        machine.note("modprobe ifb numifbs=0")
    return machine.exists(loaded)


def _shape(underlay: Underlay, nodes: Mapping[str, Node], events: Events) -> None:
    link = underlay.link
    entered = shaped(underlay)
    for name in dict.fromkeys(interface.node for interface in entered):
        own = {one.name: direction for one, direction in entered.items() if one.node == name}
        qdiscs.install(
            nodes[name],
            [line for interface, way in own.items() for line in link_command.shaper(interface, link, way)],
        )
        for interface, way in own.items():
            there = qdiscs.on(nodes[name], interface).get("tbf", {})
            events.tell("link", node=name, interface=interface, asked=way.spec(), installed=there)
            for difference in link_command.differences(link, way, there):
                events.tell("warning", name=WarningKind.LINK_DIFFERS, text=f"{name}/{interface}: {difference}")
