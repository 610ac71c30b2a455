"""Foo-over-UDP: IP in IP behind a UDP header, and nothing else.

The kernel takes what arrives at the port out of UDP and handles it as the IP protocol that the port stands for. Any
protocol can be carried so; here it is IP in IP, which adds no header of its own.
"""

from tunbench.runner.declare.options import Options
from tunbench.runner.declare.overlay import FAMILIES
from tunbench.runner.declare.packet_format import UDP
from tunbench.runner.declare.tunnel import About, Claims, Needs, Sources
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import kernel_links, kernel_modules


class Fou(Tunnel):
    """IP packets in UDP. The source port is a hash of the flow inside."""

    about = About(
        name="fou",
        summary="Foo-over-UDP: IP in IP in UDP",
        layer=3,
        claims=Claims(),
        multicast=True,
        evidence="udp dst port {port}",
        headers=(UDP,),
        # No port is assigned; this is the one of the examples in ip-fou(8).
        options=kernel_links.udp_options("5555"),
        families=(4, 6),
        outer=(4, 6),
        exclusive=("port",),
        ports=("udp {port}",),
        joins=2,
        needs=Needs(modules=kernel_modules.FOU, programs=("modprobe",)),
        sources=Sources(packages={"modprobe": "kmod"}),
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """The version field of the IP packet inside stands directly behind the UDP header."""
        inner = FAMILIES[str(options["inner"])]
        about = cls.about._replace(evidence=f"{cls.about.evidence} and udp[8] & 0xf0 = {inner << 4:#x}")
        return about.needing(modules=kernel_modules.fou(inner))

    def up(self, node: Node, nodes: Nodes) -> None:
        """Opens the port for the protocol of what is inside, and makes the interface towards the other endpoint."""
        protocol = kernel_links.PROTOCOLS[self.context.above[node.name].family]
        kernel_links.over_udp(self, node, "fou", "ipproto", str(protocol))

    def down(self, node: Node) -> None:
        """Deletes the interface, and closes the port."""
        super().down(node)
        kernel_links.close_port(self, node)
