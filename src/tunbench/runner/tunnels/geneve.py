"""Generic Network Virtualization Encapsulation (RFC 8926): Ethernet frames in UDP."""

from tunbench.runner.declare.kernel_module import Module
from tunbench.runner.declare.options import Options
from tunbench.runner.declare.packet_format import ETHERNET, UDP, Header
from tunbench.runner.declare.tunnel import About, Claims, Needs
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import kernel_links


class Geneve(Tunnel):
    """A layer 2 segment of two endpoints. The kernel finds the local address by the route to the remote one."""

    about = About(
        name="geneve",
        summary="GENEVE: Ethernet in UDP (RFC 8926)",
        layer=2,
        claims=Claims(),
        multicast=True,
        # RFC 8926, section 3.4: version, length of options and flags are 0; Transparent Ethernet Bridging (0x6558).
        evidence="udp dst port {port} and udp[8:4] = 0x00006558",
        headers=(UDP, Header("GENEVE", 8, "RFC 8926, section 3.4, without options"), ETHERNET),
        options={"vni": kernel_links.VNI, **kernel_links.udp_options("6081")},
        families=(4, 6),
        outer=(4, 6),
        exclusive=("port", "vni"),
        ports=("udp {port}",),
        joins=2,
        framing=0,
        needs=Needs(modules=(Module("geneve", "ip link add probe type geneve id 1 remote 127.0.0.1"),)),
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """The next four bytes are the VNI and a reserved one."""
        return cls.about._replace(evidence=f"{cls.about.evidence} and udp[12:4] = {int(options['vni']) << 8:#010x}")

    def up(self, node: Node, nodes: Nodes) -> None:
        """Makes the interface towards the other endpoint."""
        [peer] = self.context.peers(node)
        node.run(
            *("ip", "link", "add", self.context.above[node.name].interface, "type", "geneve"),
            *("id", str(self.options["vni"]), "remote", self.context.below[peer].address),
            *("ttl", str(self.options["ttl"]), "dstport", str(self.options["port"])),
            *kernel_links.udp_checksum(self.options, self.context.outer),
        )
        self.settle(node)
