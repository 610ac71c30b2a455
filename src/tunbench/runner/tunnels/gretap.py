"""Ethernet over Generic Routing Encapsulation (RFC 2784, with the key of RFC 2890)."""

from tunbench.runner.declare.options import Options
from tunbench.runner.declare.packet_format import ETHERNET, GRE
from tunbench.runner.declare.tunnel import About, Claims, Needs
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels import gre
from tunbench.runner.tunnels.shared import kernel_links, kernel_modules

BRIDGING = 0x6558
"""The protocol type Transparent Ethernet Bridging: RFC 1701, as the registry of EtherTypes has it."""


class Gretap(Tunnel):
    """Ethernet frames in GRE, without sequence numbers."""

    about = About(
        name="gretap",
        summary="GRE of Ethernet frames (RFC 2784)",
        layer=2,
        claims=Claims(),
        multicast=True,
        evidence="ip proto 47",
        headers=(GRE, ETHERNET),
        options=gre.OPTIONS,
        families=(4, 6),
        outer=(4, 6),
        joins=2,
        needs=Needs(modules=kernel_modules.GRE),
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """Checksum and key are fields of their own. Raises ValueError where the options do not go together."""
        return cls.about._replace(headers=(*gre.headers(options), ETHERNET), evidence=gre.evidence(options, BRIDGING))

    def up(self, node: Node, nodes: Nodes) -> None:
        """Makes the interface towards the other endpoint."""
        kernel_links.encapsulated(self, node, {4: "gretap", 6: "ip6gretap"}[self.context.outer], *gre.words(self))
