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

WAITING = "q-"
"""Before the name of an interface: what waits for a narrow link there."""

NEGLIGIBLE_DELAY_SECONDS = 1e-3
"""A base delay below which a lab without netem goes on without it: nothing that needs netem can be asked of it."""


class Entrance(NamedTuple):
    """An interface where packets enter a link, and the direction of it that they enter; `end` is the one where they
    come out.

    They wait at `queue`: the interface itself, or the one that they are led through where the link is narrow.
    """

    interface: Interface
    end: Interface
    link: Link
    way: Direction
    queue: str


class Crossing(NamedTuple):
    """What links take one way, in seconds: packets are led through `through` as they arrive at `interface`.

    `sent` is the rate at which a narrow link has sent them there.
    """

    interface: Interface
    through: str
    delay: float
    jitter: float = 0.0
    sent: str = ""


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
    _delay([one for one in crossings(underlay) if one.delay or one.sent], nodes, events)
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
    joined = [(wire.near, wire.far, wire.link) for wire in underlay.wires if wire.link]
    ways = [
        *(Entrance(near, far, link, link.up, near.name) for near, far, link in joined),
        *(Entrance(far, near, link, link.down, _queue(far.name, link)) for near, far, link in joined),
    ]
    return [one for one in ways if one.way.rate]


def _queue(interface: str, link: Link) -> str:
    """Where what goes down a link waits. What goes up waits where its sender is, who is held back there."""
    return f"{WAITING}{interface}" if link.is_narrow(link.down) else interface


def crossings(underlay: Underlay) -> list[Crossing]:
    """The delays of all links on the way, each where its packets arrive.

    What a leaf sends takes as long as both ends' own links together, as it arrives in the middle. Before that it has
    crossed the link of its access, and after that it crosses the other one's, which ends at a gateway. What a narrow
    link takes to send a frame is taken where that arrives; downwards, where it leaves.
    """
    found = []
    for name in (name for name in underlay.leaves if name != EDGE):
        up, jitter = underlay.link.crossing_delay, 0.0
        for one in underlay.gateways.get(name, ())[:1]:
            access, there = one.access, Interface(one.node, one.outside.interface)
            up, jitter = up + access.link.up.delay + access.delay, access.jitter
            found.append(Crossing(there, FROM_NETWORK, access.link.down.delay + access.delay, jitter))
        *before, last = [wire for wire in underlay.wires_of(name)]
        found += [Crossing(one.far, f"from-{name}", 0.0, sent=_sent_up(one)) for one in before if _sent_up(one)]
        found.append(Crossing(last.far, f"from-{name}", up, jitter, _sent_up(last)))
    return found


def _sent_up(wire: Wire) -> str:
    """The rate of a narrow link from a leaf on; empty where it is none."""
    return link_command.sending(wire.link, wire.link.up) if wire.link else ""


def _delay(crossings: list[Crossing], nodes: Mapping[str, Node], events: Events) -> None:
    try:
        if crossings and not _has_ifb(nodes[ROOT_NODE]):
            raise Unsupported("this kernel has no delay for a link (module ifb)")
        for name in dict.fromkeys(one.interface.node for one in crossings):
            there = [one for one in crossings if one.interface.node == name]
            nodes[name].ip(*(f"link add {one.through} up type ifb" for one in there))
            lines = (
                link_command.delay(one.interface.name, one.through, one.delay, one.jitter, one.sent) for one in there
            )
            qdiscs.install(nodes[name], [line for some in lines for line in some])
    except Unsupported as lacking:
        longest = max(one.delay for one in crossings)
        if longest > NEGLIGIBLE_DELAY_SECONDS or any(one.sent for one in crossings):
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
        led = [one for one in own if one.queue != one.interface.name]
        nodes[name].ip(*(f"link add {one.queue} up type ifb" for one in led))
        shapers = (link_command.shaper(one.queue, one.link, one.way) for one in own)
        ways_in = (
            link_command.narrow(one.interface.name, one.queue, link_command.sending(one.link, one.way)) for one in led
        )
        qdiscs.install(nodes[name], [line for some in (*shapers, *ways_in) for line in some])
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
    there = qdiscs.on(nodes[entrance.interface.node], entrance.queue)
    return there.get(link_command.shaper_kind(entrance.way), {})
