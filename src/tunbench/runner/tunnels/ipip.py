"""IP in IP (RFC 2003, RFC 2473, RFC 4213): the smallest tunnel there is.

The kernel has a kind of interface for each pair of address families: `ipip` for IPv4 in IPv4, `sit` for IPv6 in IPv4,
and `ip6tnl` for both in IPv6.
"""

from tunbench.runner.declare.options import Options
from tunbench.runner.declare.overlay import FAMILIES
from tunbench.runner.declare.tunnel import About, Claims, Needs
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import kernel_links, kernel_modules


class Ipip(Tunnel):
    """IP packets in IP packets, without a header of its own."""

    about = About(
        name="ipip",
        summary="IP in IP (RFC 2003, RFC 2473)",
        layer=3,
        claims=Claims(),
        multicast=True,
        evidence="ip proto 4",
        options={"ttl": kernel_links.TTL},
        families=(4, 6),
        outer=(4, 6),
        joins=2,
        needs=Needs(modules=kernel_modules.IP_IN_IP),
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """The protocol number says what is inside."""
        inner = FAMILIES[str(options["inner"])]
        about = cls.about._replace(evidence=f"ip proto {kernel_links.PROTOCOLS[inner]}")
        return about.needing(modules=kernel_modules.ip_in_ip(inner))

    def up(self, node: Node, nodes: Nodes) -> None:
        """Makes the interface towards the other endpoint."""
        kernel_links.ip_in_ip(self, node)
