"""IP in IP (RFC 2003): the smallest tunnel there is."""

from tunbench.runner import links
from tunbench.runner.contract import About, Claims, Tunnel
from tunbench.runner.node import Node
from tunbench.runner.options import Option


class Ipip(Tunnel):
    """IPv4 packets in IPv4 packets, without a header of its own."""

    about = About(
        name="ipip",
        summary="IPv4 in IPv4 (RFC 2003)",
        layer=3,
        claims=Claims(),
        evidence="ip proto 4",
        options={"ttl": Option("count", "64", "time to live of the outer header", low=1, high=255)},
        modules=("ipip",),
    )

    def up(self, node: Node) -> None:
        """Makes the interface towards the other endpoint."""
        links.point_to_point(self, node, "ipip", "ttl", str(self.options["ttl"]))
