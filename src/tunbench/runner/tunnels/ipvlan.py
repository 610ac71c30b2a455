"""IPVLAN: an interface with IP addresses of its own and the MAC address of the Ethernet below.

In mode l2 it resolves addresses by itself. In the modes l3 and l3s it has no neighbours: what it sends is routed by the
interface below, for which the endpoints get a rule with a table, and a neighbour entry for every peer. Mode l3s differs
from l3 in that packets pass the hooks of netfilter.
"""

from ipaddress import ip_interface

from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.overlay import FAMILIES
from tunbench.runner.declare.packet_format import ETHERNET, Format
from tunbench.runner.declare.tunnel import About, Claims, Needs
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel, address
from tunbench.runner.tunnels.shared import kernel_modules

TABLE = 100
"""The routing table of the lowest layer; each layer has one of its own."""


class Ipvlan(Tunnel):
    """An interface with IP addresses of its own on the segment; nothing is added to a packet."""

    about = About(
        name="ipvlan",
        summary="IPVLAN: an interface with its own IP addresses, and the MAC address of the Ethernet below",
        # It hands out packets by their IP addresses: frames of other protocols, or to other MAC addresses, do not pass.
        layer=3,
        claims=Claims(),
        evidence="src net {network} and dst net {network}",
        options={"mode": Option("choice", "l2", "mode of the interface", choices=("l2", "l3", "l3s"))},
        needs_underlay="ethernet",
        multicast=True,
        families=(4, 6),
        # One on top of the other is, to the kernel, a second one on the same Ethernet.
        exclusive=(),
        framing=ETHERNET.size,
        needs=Needs(modules=(kernel_modules.on_ethernet("ipvlan"),)),
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """Without neighbours of its own it has no groups either (Linux, Documentation/networking/ipvlan.rst, 4.2)."""
        return cls.about._replace(multicast=options["mode"] == "l2")

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        """Adds nothing to a packet."""
        return Format(())

    @classmethod
    def evidence(cls, options: Options, outer: int, position: int = 0) -> str:
        """Both addresses of a packet are those of the overlay, whose place in the stack they tell."""
        return cls.about.evidence.format(network=network(options, position))

    def up(self, node: Node, nodes: Nodes) -> None:
        """Makes the interface, and routes what it sends."""
        interface, below = self.context.above[node.name].interface, self.context.below[node.name].interface
        mode = str(self.options["mode"])
        node.run("ip", "link", "add", interface, "link", below, "type", "ipvlan", "mode", mode)
        self.settle(node)
        if self.routed:
            node.run("ip", self.family, "rule", "add", *self.rule(node))
            node.run("ip", self.family, "route", "add", *self.route(node))
        for peer in self.context.peers(node) if self.routed else ():
            there, path = self.context.above[peer].address, self.file(peer, "mac")
            # It can tell its MAC address only when what is below is up.
            nodes[peer].run("cat", f"/sys/class/net/{self.context.below[peer].interface}/address", into=path)
            mac = node.read_word(path)
            node.run("ip", "neighbour", "add", there, "lladdr", mac, "dev", below, "nud", "permanent")

    def down(self, node: Node) -> None:
        """Deletes the interface, and what routes."""
        super().down(node)
        if self.routed:
            node.try_run("ip", self.family, "rule", "del", *self.rule(node))
            node.try_run("ip", self.family, "route", "del", *self.route(node))
        for peer in self.context.peers(node) if self.routed else ():
            below = self.context.below[node.name].interface
            node.try_run("ip", "neighbour", "del", self.context.above[peer].address, "dev", below)

    @property
    def routed(self) -> bool:
        """Whether the interface below routes what it sends."""
        return self.options["mode"] != "l2"

    @property
    def family(self) -> str:
        """The address family of the overlay, as `ip` takes it."""
        return f"-{FAMILIES[str(self.options['inner'])]}"

    @property
    def network(self) -> str:
        """The network of the overlay."""
        return network(self.options, self.context.position)

    @property
    def table(self) -> str:
        """The number of the routing table."""
        return str(TABLE + self.context.position)

    def rule(self, node: Node) -> tuple[str, ...]:
        """What the interface below sends to the overlay; what a program sends there has no such interface."""
        below = self.context.below[node.name].interface
        return ("to", self.network, "oif", below, "lookup", self.table)

    def route(self, node: Node) -> tuple[str, ...]:
        """The way to the overlay."""
        return (self.network, "dev", self.context.below[node.name].interface, "table", self.table)


def network(options: Options, position: int) -> str:
    """The network of the overlay at a position in a stack."""
    here, prefix = address(FAMILIES[str(options["inner"])], position, 1)
    return str(ip_interface(f"{here}/{prefix}").network)
