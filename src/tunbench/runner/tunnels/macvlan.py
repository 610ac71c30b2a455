"""MACVLAN: a second MAC address on an Ethernet interface."""

from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.packet_format import Format
from tunbench.runner.declare.tunnel import About, Claims, Needs
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import kernel_modules


class Macvlan(Tunnel):
    """An interface with a MAC address of its own on the segment; nothing is added to a frame."""

    about = About(
        name="macvlan",
        summary="MACVLAN: an interface with its own MAC address on the Ethernet below",
        layer=2,
        fits_carrier=True,
        claims=Claims(),
        multicast=True,
        # A locally administered prefix that nothing else in the lab has, and the position in the stack; at both ends.
        evidence="ether[0:4] = 0x02766c00 and ether[4] = {position}"
        " and ether[6:4] = 0x02766c00 and ether[10] = {position}",
        options={
            # The mode passthru is left out: it takes the MAC address and all traffic of the interface below to itself.
            "mode": Option("choice", "bridge", "mode of the interface", choices=("bridge", "private", "vepa")),
        },
        needs_underlay="ethernet",
        families=(4, 6),
        # One on top of the other is, to the kernel, a second one on the same Ethernet.
        exclusive=(),
        needs=Needs(modules=(kernel_modules.on_ethernet("macvlan"),)),
    )

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        """Adds nothing to a frame."""
        return Format(())

    def up(self, node: Node, nodes: Nodes) -> None:
        """Makes the interface with the MAC address that the proof looks for."""
        overlay, below = self.context.above[node.name], self.context.below[node.name]
        # Else the interface below answers too where a peer asks for the address, and what comes first counts.
        node.run("sysctl", "-qw", f"net.ipv4.conf.{below.interface}.arp_ignore=1")
        number = list(self.context.above).index(node.name) + 1
        mac = f"02:76:6c:00:{self.context.position:02x}:{number:02x}"
        node.run(
            *("ip", "link", "add", overlay.interface, "link", below.interface, "address", mac),
            *("type", "macvlan", "mode", str(self.options["mode"])),
        )
        self.settle(node)
