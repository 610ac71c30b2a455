"""Carries IPv4 over links of IPv6 alone (464XLAT, RFC 6877): one translator on the node, and one at the carrier.

Debian's tayga makes of each packet one of the other family (RFC 7915), in user space. Of the node's own address of IPv4
its translator makes one of IPv6 that nobody else has; all others stand in the well-known prefix (RFC 6052). At the
carrier the same goes on backwards, and the rules of a NAT there keep the state (RFC 6146).
"""

from collections.abc import Mapping
from ipaddress import IPv6Address, ip_interface
from pathlib import Path
from typing import NamedTuple

from tunbench.runner.declare.failures import StackFailed, Unsupported
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.network.access.gateway import (
    HEADER_DIFFERENCE,
    INSIDE,
    OUTSIDE,
    OWN_ADDRESS,
    OWN_TRANSLATOR,
    TRANSLATOR,
    WIRED,
    Gateway,
    first_of,
)
from tunbench.runner.network.underlay import Underlay
from tunbench.runner.node.command import CommandFailed
from tunbench.runner.node.events import Events
from tunbench.runner.node.node import Node

DAEMON = "tayga"

PREFIX = "64:ff9b::/96"
"""RFC 6052, section 2.1."""

OF_NODE, OF_DAEMON = 0x464, 0x465
"""The last parts of addresses of IPv6: that which stands for the node's of IPv4, and that of a translator itself."""

SERVICE = "192.0.0.2"
"""The address of IPv4 of the node's translator itself: as the node's, of the network for that (RFC 7335)."""

CONFIGURATION = """\
tun-device {interface}
ipv4-addr {here[0]}
ipv6-addr {here[1]}
prefix {prefix}
map {mapped[0]} {mapped[1]}
"""

WHOLE = """\
table netdev nat64 {{
    chain whole {{
        type filter hook egress device "{interface}" priority filter; policy accept;
        ip frag-off & 0x3fff == 0 udp checksum 0 udp checksum set 1 meta mark set {mark:#x}
        ip frag-off & 0x3fff == 0 ip frag-off set 0x4000
    }}
}}
"""
"""What fits is not cut. The daemon would cut to 1280 bytes what does not forbid it, since it is not told which MTU the
link has: RFC 7915, section 4, which lets translators know better."""

MARK = 0x464
"""The mark of datagrams without a checksum, which UDP has over IPv4 alone. The daemon would drop them, where others
reckon the checksum (RFC 6146, section 3.4): so the kernel does, for which any has to stand there."""

CHECKSUM = (
    "qdisc add dev {interface} clsact",
    f"filter add dev {{interface}} egress protocol ip handle {MARK:#x} fw action csum udp",
)

START_TIMEOUT = 10.0
"""Seconds in which the daemon must have its interface."""


class Translator(NamedTuple):
    """A translator: its interface, and the two addresses that stand for each other, of IPv4 and of IPv6.

    From `here` it tells of errors. `mtu` is that of the link of IPv6 in bytes, and `words` what its node's ip is told.
    """

    interface: str
    mapped: tuple[str, str]
    here: tuple[str, str]
    mtu: int
    words: tuple[str, ...]


def build(underlay: Underlay, nodes: Mapping[str, Node], events: Events) -> None:
    """Starts both translators of each leaf whose link carries IPv6 alone. Raises Unsupported, StackFailed."""
    for name, some in underlay.gateways.items():
        if not some[-1].from_ipv6:
            continue
        near, far = some
        nodes[near.node].ip(f"route add {of_node(near)} via {near.behind}")
        nodes[far.node].ip(f"route add {near.network} via {near.outside.address}")
        _start(nodes[far.node], at_carrier(near, far), events)
        nodes[name].run("sysctl", "-qw", "net.ipv6.conf.all.forwarding=1")
        _start(nodes[name], on_node(near), events)
        for node, interface in ((name, WIRED), (near.node, INSIDE), (near.node, OUTSIDE), (far.node, INSIDE)):
            _wait_for_neighbours(nodes[node], interface)


def of_node(near: Gateway) -> str:
    """The address of IPv6 that stands for the node's of IPv4."""
    return _in_network(near, OF_NODE)


def on_node(near: Gateway) -> Translator:
    """The translator of the node that stands behind this gateway."""
    mtu, of_itself = near.inside.mtu, _in_network(near, OF_DAEMON)
    words = (
        f"address add {OWN_ADDRESS}/32 dev {OWN_TRANSLATOR}",
        *(f"route add {one} dev {OWN_TRANSLATOR}" for one in (SERVICE, of_node(near), of_itself)),
        # Packets of both families pass its interface, and those of IPv4 grow.
        f"route add default dev {OWN_TRANSLATOR} src {OWN_ADDRESS} mtu {mtu - HEADER_DIFFERENCE}",
    )
    return Translator(OWN_TRANSLATOR, (OWN_ADDRESS, of_node(near)), (SERVICE, of_itself), mtu, words)


def at_carrier(near: Gateway, far: Gateway) -> Translator:
    """The translator at the far end of the link of a gateway."""
    here = (first_of(far.behind), _in_network(far, OF_DAEMON))
    # The lock has what is passed on cut to that, or refused.
    fits = f"route add {far.behind} dev {TRANSLATOR} mtu lock {far.inside.mtu - HEADER_DIFFERENCE}"
    words = (fits, *(f"route add {one} dev {TRANSLATOR}" for one in (*here, PREFIX)))
    return Translator(TRANSLATOR, (far.behind, of_node(near)), here, far.inside.mtu, words)


def _in_network(gateway: Gateway, last: int) -> str:
    """An address of the network behind a gateway."""
    return str(IPv6Address(int(ip_interface(gateway.inside.cidr).network.network_address) + last))


def _wait_for_neighbours(node: Node, interface: str) -> None:
    """Waits until a node that passes packets on can ask for its neighbours, which it does from its link-local address.

    The kernel gives it that when it hears of the carrier: up to a second later, for which the first packet would wait.
    """
    words = ("ip", "-6", "address", "show", "dev", interface, "scope", "link", "-tentative")
    if not node.until_prints(*words, timeout=START_TIMEOUT):
        raise StackFailed(f"{node.name}: {interface} got no link-local address within {START_TIMEOUT:g} s")


def _start(node: Node, one: Translator, events: Events) -> None:
    """Starts a translator on its node. Raises Unsupported where it is not installed, StackFailed, CommandFailed."""
    if not node.has(DAEMON):
        raise Unsupported(
            f"the program {DAEMON} is not installed, which translates between IPv4 and IPv6: apt-get install {DAEMON}"
        )
    file = node.home / f"{DAEMON}.conf"
    node.write(file, CONFIGURATION.format(prefix=PREFIX, **one._asdict()))
    node.run(DAEMON, "-c", str(file), "--mktun")
    rules = node.home / "nat64.nft"
    node.write(rules, WHOLE.format(interface=one.interface, mark=MARK))
    node.run("nft", "-f", str(rules))
    try:
        node.tc(*(line.format(interface=one.interface) for line in CHECKSUM))
    except CommandFailed:
        text = f"{node.name}: this kernel reckons no checksums (modules act_csum, cls_fw): UDP without one is lost"
        events.tell("warning", name=WarningKind.LINK_DIFFERS, text=text)
    node.ip(f"link set {one.interface} up mtu {one.mtu}", *one.words)
    node.start(DAEMON, "-c", str(file), "-d", "--pidfile", str(node.home / f"{DAEMON}.pid"), log=DAEMON)
    # There is a carrier as long as a program has hold of it.
    carrier = Path("/sys/class/net") / one.interface / "carrier"
    if not node.until("grep", "-q", "1", str(carrier), timeout=START_TIMEOUT):
        raise StackFailed(f"{node.name}: {DAEMON} did not take its interface within {START_TIMEOUT:g} s")
