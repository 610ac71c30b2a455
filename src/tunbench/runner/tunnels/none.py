"""No tunnel at all: the bare underlay, to which everything else is compared."""

from collections.abc import Sequence

from tunbench.runner.contract import About, Claims, Tunnel
from tunbench.runner.node import Node
from tunbench.runner.options import Option


class Bare(Tunnel):
    """The underlay itself. It is measured on the router and, for stacks that need Ethernet, on the bridge."""

    about = About(
        name="none",
        summary="no tunnel: the bare underlay",
        layer=3,
        claims=Claims(),
        evidence="ip or ip6",
        overhead=0,
        options={"underlay": Option("choice", "ip", "router (ip) or bridge (ethernet)", choices=("ip", "ethernet"))},
        families=(4, 6),
    )

    def prepare(self, nodes: Sequence[Node]) -> None:
        """Has nothing to make."""

    def up(self, node: Node) -> None:
        """Is up already."""

    def down(self, node: Node) -> None:
        """Leaves the underlay alone."""
