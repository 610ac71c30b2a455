"""MACVLAN: a second MAC address on an Ethernet interface."""

from tunbench.runner.contract import About, Claims, Tunnel
from tunbench.runner.formats import Format
from tunbench.runner.node import Node
from tunbench.runner.options import Option, Options


class Macvlan(Tunnel):
    """An interface with a MAC address of its own on the segment; nothing is added to a frame."""

    about = About(
        name="macvlan",
        summary="MACVLAN: an interface with its own MAC address on the Ethernet below",
        layer=2,
        claims=Claims(),
        # A locally administered prefix that nothing else in the lab has.
        evidence="ether src 02:76:6c:00:00:01 or ether src 02:76:6c:00:00:02",
        options={
            "mode": Option("choice", "bridge", "mode of the interface", choices=("bridge", "private", "vepa")),
        },
        needs_underlay="ethernet",
        families=(4, 6),
        exclusive=(),
        modules=("macvlan",),
    )

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        """Adds nothing to a frame."""
        return Format(())

    def up(self, node: Node) -> None:
        """Makes the interface with the MAC address that the proof looks for."""
        overlay, below = self.place.above[node.name], self.place.below[node.name]
        number = list(self.place.above).index(node.name) + 1
        node.run(
            *(
                "ip",
                "link",
                "add",
                overlay.interface,
                "link",
                below.interface,
                "address",
                f"02:76:6c:00:00:{number:02x}",
            ),
            *("type", "macvlan", "mode", str(self.options["mode"])),
        )
        self.settle(node)
