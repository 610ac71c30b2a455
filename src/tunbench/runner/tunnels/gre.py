"""Generic Routing Encapsulation (RFC 2784) of IP packets."""

from tunbench.runner import links
from tunbench.runner.contract import About, Claims, Tunnel
from tunbench.runner.formats import GRE
from tunbench.runner.node import Node
from tunbench.runner.options import Option


class Gre(Tunnel):
    """IP packets in GRE, without key, sequence number and checksum."""

    about = About(
        name="gre",
        summary="GRE of IP packets (RFC 2784)",
        layer=3,
        claims=Claims(),
        evidence="ip proto 47",
        headers=(GRE,),
        options={"ttl": Option("count", "64", "time to live of the outer header", low=1, high=255)},
        modules=("ip_gre",),
    )

    def up(self, node: Node) -> None:
        """Makes the interface towards the other endpoint."""
        links.point_to_point(self, node, "gre", "ttl", str(self.options["ttl"]))
