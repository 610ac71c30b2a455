"""What a stack carried: bytes and packets that arrived at the interfaces of its overlay."""

from pathlib import Path
from typing import NamedTuple

from tunbench.runner.declare.packet_format import ETHERNET
from tunbench.runner.node.node import Node
from tunbench.runner.probe import Scene

DEVICES = Path("/proc/1/net/dev")
INTERFACES = Path("/sys/class/net")

ARPHRD_ETHER = "1"
"""The type of an interface with Ethernet headers: Linux, include/uapi/linux/if_arp.h."""

BARE = ("vxlan", "geneve")
"""Interfaces with Ethernet headers that count packets without them: Linux 6.1, drivers/net."""

WIREGUARD = 32
"""Bytes around the packet in WireGuard's transport data message: Donenfeld, WireGuard (NDSS 2017), section 5.4.6.

Its interface counts whole messages, with their padding to a multiple of 16 B, which is not taken off here.
"""


class Carried(NamedTuple):
    """Bytes of IP packets, and their number."""

    size: int
    packets: int


def arrived(scene: Scene) -> Carried:
    """What has arrived at the overlay's interface on both ends since it was made, in bytes of IP packets."""
    nodes = {node.name: node for node in scene.nodes}
    ends = [_at(nodes[name], overlay.interface) for name, overlay in scene.overlays.items()]
    return Carried(sum(end.size for end in ends), sum(end.packets for end in ends))


def received(devices: str, interface: str) -> Carried:
    """The bytes and packets that an interface received, in /proc/net/dev: proc(5)."""
    for line in devices.splitlines():
        name, _, fields = line.partition(":")
        if name.strip() == interface and fields:
            size, packets = fields.split()[:2]
            return Carried(int(size), int(packets))
    return Carried(0, 0)


def framing(kind: str, uevent: str) -> int:
    """The bytes that an interface counts with each packet beyond the packet, by its `type` and `uevent` in sysfs."""
    device = uevent.partition("DEVTYPE=")[2].partition("\n")[0]
    if device == "wireguard":
        return WIREGUARD
    return ETHERNET.size if kind.strip() == ARPHRD_ETHER and device not in BARE else 0


def _at(node: Node, interface: str) -> Carried:
    counted = received(node.read_if_there(DEVICES), interface)
    about = INTERFACES / interface
    more = framing(node.read_if_there(about / "type"), node.read_if_there(about / "uevent"))
    return counted._replace(size=counted.size - more * counted.packets)
