"""Virtual eXtensible LAN (RFC 7348): Ethernet frames in UDP."""

from tunbench.runner.declare.kernel_module import Module
from tunbench.runner.declare.options import Options
from tunbench.runner.declare.packet_format import ETHERNET, UDP, Header
from tunbench.runner.declare.tunnel import About, Claims, Needs
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import kernel_links


class Vxlan(Tunnel):
    """A layer 2 segment among the endpoints, with unicast replication to every peer."""

    about = About(
        name="vxlan",
        summary="VXLAN: Ethernet in UDP (RFC 7348)",
        layer=2,
        fits_carrier=True,
        claims=Claims(),
        multicast=True,
        # RFC 7348, section 5: of the first four bytes only the I flag is set.
        evidence="udp dst port {port} and udp[8:4] = 0x08000000",
        headers=(UDP, Header("VXLAN", 8, "RFC 7348, section 5"), ETHERNET),
        options={"vni": kernel_links.VNI, **kernel_links.udp_options("4789")},
        families=(4, 6),
        outer=(4, 6),
        exclusive=("port", "vni"),
        ports=("udp {port}",),
        framing=0,
        needs=Needs(modules=(Module("vxlan", "ip link add probe type vxlan id 1 dstport 4789"),)),
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """The next four bytes are the VNI and a reserved one."""
        return cls.about._replace(evidence=f"{cls.about.evidence} and udp[12:4] = {int(options['vni']) << 8:#010x}")

    def up(self, node: Node, nodes: Nodes) -> None:
        """Makes the interface, and an entry that sends what is not known to every peer."""
        overlay, below = self.context.above[node.name], self.context.below[node.name]
        node.run(
            *("ip", "link", "add", overlay.interface, "type", "vxlan", "id", str(self.options["vni"])),
            *("local", below.local, "dev", below.interface, "ttl", str(self.options["ttl"])),
            *("dstport", str(self.options["port"]), *kernel_links.udp_checksum(self.options, self.context.outer)),
        )
        flood = ("fdb", "append", "00:00:00:00:00:00", "dev", overlay.interface, "dst")
        node.bridge(*((*flood, self.context.below[peer].address) for peer in self.context.peers(node)))
        self.settle(node)
