"""No tunnel at all: the bare underlay, to which everything else is compared."""

from collections.abc import Mapping

from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.packet_format import Format
from tunbench.runner.declare.tunnel import BARE, About, Claims
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel


class Bare(Tunnel):
    """The underlay itself. It is measured on the router and, for stacks that need Ethernet, on the bridge."""

    about = About(
        name=BARE,
        summary="no tunnel: the bare underlay",
        layer=3,
        claims=Claims(),
        evidence="ip or ip6",
        options={
            "underlay": Option(
                "choice", "ip", "router (ip, ip6) or bridge (ethernet)", choices=("ip", "ip6", "ethernet")
            ),
        },
        families=(4, 6),
        outer=(4, 6),
    )

    @classmethod
    def takes(cls) -> dict[str, Option]:
        """Its own option alone."""
        return dict(cls.about.options)

    @classmethod
    def with_options(cls, options: Options) -> About:
        """A bridge floods what is sent to a group, and a router routes none of it."""
        return cls.about._replace(multicast=options["underlay"] == "ethernet")

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        """Adds nothing."""
        return Format(())

    @classmethod
    def yields(cls, options: Options, index: int, below: Mapping[str, Overlay]) -> dict[str, Overlay]:
        """The underlay as it is."""
        return dict(below)

    def prepare(self, nodes: Nodes) -> None:
        """Has nothing to make."""

    def up(self, node: Node, nodes: Nodes) -> None:
        """Is up already."""

    def down(self, node: Node) -> None:
        """Leaves the underlay alone."""
