"""Makes wires of virtual Ethernet: what leaves a node is cut into packets, takes its time, and passes at a rate."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tunbench.runner.declare.failures import Unsupported
from tunbench.runner.declare.link import Direction, Link
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.network import link_command, qdiscs
from tunbench.runner.network.underlay import EDGE, Interface, Underlay, Wire
from tunbench.runner.node.events import Events
from tunbench.runner.node.node import ROOT_NODE, Node

SEGMENTATION_OFFLOADS = ("tso", "gso", "tx-udp-segmentation")
"""What hands bundles of packets on uncut. TCP goes on to make them: the kernel cuts them as they leave the interface,
as it does above a network card that cannot."""

LARGEST_BUNDLE_BYTES = 65_536
"""What the kernel puts together at most where nobody tells it: GRO_LEGACY_MAX_SIZE of include/linux/netdevice.h."""

FROM_NETWORK = "from-network"
"""The interface of a gateway through which all is led that comes from the network, as its link takes time."""

NEGLIGIBLE_DELAY_SECONDS = 1e-3
"""A base delay below which a lab without netem goes on without it: nothing that needs netem can be asked of it."""


class Entrance(NamedTuple):
    """An interface where packets enter a link, and the direction of it that they enter; `end` is the one where they
    come out.
    """

    interface: Interface
    end: Interface
    link: Link
    way: Direction


class Crossing(NamedTuple):
    """What links take one way, in seconds: packets are led through `through` as they arrive at `interface`."""

    interface: Interface
    through: str
    delay: float
    jitter: float = 0.0


def build(underlay: Underlay, nodes: Mapping[str, Node], events: Events) -> None:
    """Makes the links of the leaves what the underlay's link says. Raises Unsupported, CommandFailed."""
    leaves = {name: underlay.wired(name) for name in underlay.leaves if name != EDGE}
    link = underlay.link
    if (link.cuts or link.gro) and not nodes[underlay.middle].has("ethtool"):
        mend = 'install it, or name the link "aggregates", which does neither'
        raise Unsupported(f"the program ethtool is not installed, which has packets cut and put together: {mend}")
    if link.cuts:
        for name, leaf in leaves.items():
            cut(nodes[name], leaf.interface)
    if link.gro:
        for wire in (wire for wire in underlay.wires if wire.near.node in leaves):
            _put_together(wire, link, nodes)
    _delay([one for one in crossings(underlay) if one.delay], nodes, events)
    _shape(underlay, nodes, events)


def cut(node: Node, interface: str) -> None:
    """Has what leaves an interface cut into packets of its MTU. Raises CommandFailed."""
    node.run("ethtool", "-K", interface, *(word for name in SEGMENTATION_OFFLOADS for word in (name, "off")))


def _put_together(wire: Wire, link: Link, nodes: Mapping[str, Node]) -> None:
    """Has what a leaf receives put together again, as much as comes between two interrupts of a card. Raises
    CommandFailed.

    A veth does so where its other end hands on no bundles: Linux 6.1, veth_skb_is_eligible_for_gro(). It polls for
    each packet, and keeps what it has put together while the next one comes within `gro_flush_timeout`. So what a card
    would have handed on by then is a bundle's largest size.
    """
    leaf, interface = nodes[wire.near.node], wire.near.name
    cut(nodes[wire.far.node], wire.far.name)
    leaf.run("ethtool", "-K", interface, "gro", "on")
    leaf.run("sh", "-c", 'echo "$1" >"/sys/class/net/$0/gro_flush_timeout"', interface, f"{link.gro * 1e9:.0f}")
    if frames := link.frames_put_together:
        largest = min(frames * link.mtu, LARGEST_BUNDLE_BYTES)
        leaf.run("ip", "link", "set", "dev", interface, "gro_max_size", f"{largest}")


def entrances(underlay: Underlay) -> list[Entrance]:
    """Where packets enter a direction of a link that has a rate: all that go up, then all that go down."""
    ways = [
        *(Entrance(wire.near, wire.far, wire.link, wire.link.up) for wire in underlay.wires if wire.link),
        *(Entrance(wire.far, wire.near, wire.link, wire.link.down) for wire in underlay.wires if wire.link),
    ]
    return [one for one in ways if one.way.rate]


def crossings(underlay: Underlay) -> list[Crossing]:
    """The delays of all links on the way, each where its packets arrive.

    What a leaf sends takes as long as both ends' own links together, as it arrives in the middle. Before that it has
    crossed the link of its access, and after that it crosses the other one's, which ends at a gateway.
    """
    found = []
    for name in (name for name in underlay.leaves if name != EDGE):
        up, jitter = underlay.link.crossing_delay, 0.0
        for one in underlay.gateways.get(name, ())[:1]:
            access, there = one.access, Interface(one.node, one.outside.interface)
            up, jitter = up + access.link.up.delay + access.delay, access.jitter
            found.append(Crossing(there, FROM_NETWORK, access.link.down.delay + access.delay, jitter))
        found.append(Crossing(Interface(underlay.middle, f"to-{name}"), f"from-{name}", up, jitter))
    return found


def _delay(crossings: list[Crossing], nodes: Mapping[str, Node], events: Events) -> None:
    try:
        if crossings and not _has_ifb(nodes[ROOT_NODE]):
            raise Unsupported("this kernel has no delay for a link (module ifb)")
        for name in dict.fromkeys(one.interface.node for one in crossings):
            there = [one for one in crossings if one.interface.node == name]
            nodes[name].ip(*(f"link add {one.through} up type ifb" for one in there))
            lines = (link_command.delay(one.interface.name, one.through, one.delay, one.jitter) for one in there)
            qdiscs.install(nodes[name], [line for some in lines for line in some])
    except Unsupported as lacking:
        longest = max(one.delay for one in crossings)
        if longest > NEGLIGIBLE_DELAY_SECONDS:
            raise
        text = f"{lacking}: round trips are {2e6 * longest:.0f} µs shorter"
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
    entered = entrances(underlay)
    for name in dict.fromkeys(one.interface.node for one in entered):
        own = [one for one in entered if one.interface.node == name]
        lines = (link_command.shaper(one.interface.name, one.link, one.way) for one in own)
        qdiscs.install(nodes[name], [line for some in lines for line in some])
        for one in own:
            if one.way.polices:
                qdiscs.install(nodes[one.end.node], link_command.policer(one.end.name, one.link, one.way))
            _compare(one, nodes, events)


def _compare(entrance: Entrance, nodes: Mapping[str, Node], events: Events) -> None:
    """Tells what the kernel made of a direction of a link."""
    interface, link, way = entrance.interface, entrance.link, entrance.way
    there = installed(entrance, nodes)
    events.tell("link", node=interface.node, interface=interface.name, asked=way.spec(), installed=there)
    for difference in link_command.differences(link, way, there):
        events.tell("warning", name=WarningKind.LINK_DIFFERS, text=f"{interface.node}/{interface.name}: {difference}")


def installed(entrance: Entrance, nodes: Mapping[str, Node]) -> dict[str, Any]:
    """What `tc` says of what keeps the rate of a direction, and its counters. Raises WorkloadFailed."""
    if entrance.way.polices:
        return qdiscs.policer(nodes[entrance.end.node], entrance.end.name)
    there = qdiscs.on(nodes[entrance.interface.node], entrance.interface.name)
    return there.get(link_command.shaper_kind(entrance.way), {})
