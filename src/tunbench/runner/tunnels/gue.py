"""Generic UDP Encapsulation (draft-ietf-intarea-gue), variant 0, of IP in IP.

Its header names the protocol inside; here it is IP in IP, which adds no header of its own. Remote checksum offload is
left out: Linux adds its 8 bytes to some packets only, so no MTU could be exact.
"""

from tunbench.runner.declare.options import Options
from tunbench.runner.declare.overlay import FAMILIES
from tunbench.runner.declare.packet_format import UDP, Header
from tunbench.runner.declare.tunnel import About, Claims, Needs, Sources
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import kernel_links, kernel_modules


class Gue(Tunnel):
    """IP packets behind a header of 4 bytes in UDP. The source port is a hash of the flow inside."""

    about = About(
        name="gue",
        summary="Generic UDP Encapsulation of IP in IP (draft-ietf-intarea-gue)",
        layer=3,
        claims=Claims(),
        multicast=True,
        evidence="udp dst port {port}",
        headers=(UDP, Header("GUE", 4, "draft-ietf-intarea-gue-09, section 3")),
        options=kernel_links.udp_options("6080"),
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
        """All of the header: variant, control bit, length and flags are 0, and the second byte is the protocol."""
        inner = FAMILIES[str(options["inner"])]
        evidence = f"{cls.about.evidence} and udp[8:4] = {kernel_links.PROTOCOLS[inner] << 16:#010x}"
        return cls.about._replace(evidence=evidence).needing(modules=kernel_modules.fou(inner))

    def up(self, node: Node, nodes: Nodes) -> None:
        """Opens the port, and makes the interface towards the other endpoint."""
        kernel_links.over_udp(self, node, "gue", "gue")

    def down(self, node: Node) -> None:
        """Deletes the interface, and closes the port."""
        super().down(node)
        kernel_links.close_port(self, node)
