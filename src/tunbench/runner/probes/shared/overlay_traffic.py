"""What a stack carried: bytes and packets that arrived at the interfaces of its overlay."""

from pathlib import Path
from typing import NamedTuple

from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.node.node import Node
from tunbench.runner.probe import Scene

DEVICES = Path("/proc/1/net/dev")


class Carried(NamedTuple):
    """Bytes of IP packets, and their number."""

    size: int
    packets: int


def arrived(scene: Scene) -> Carried:
    """What has arrived at the overlay's interface on both ends since it was made, in bytes of IP packets."""
    nodes = {node.name: node for node in scene.nodes}
    ends = [_at(nodes[name], overlay) for name, overlay in scene.overlays.items()]
    return Carried(sum(end.size for end in ends), sum(end.packets for end in ends))


def received(devices: str, interface: str) -> Carried:
    """The bytes and packets that an interface received, in /proc/net/dev: proc(5)."""
    for line in devices.splitlines():
        name, _, fields = line.partition(":")
        if name.strip() == interface and fields:
            size, packets = fields.split()[:2]
            return Carried(int(size), int(packets))
    return Carried(0, 0)


def _at(node: Node, overlay: Overlay) -> Carried:
    counted = received(node.read_if_there(DEVICES), overlay.interface)
    return counted._replace(size=counted.size - overlay.framing * counted.packets)
