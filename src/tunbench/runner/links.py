"""What tunnels of the kernel share that join two addresses."""

from tunbench.runner.contract import Tunnel
from tunbench.runner.node import Node


def point_to_point(tunnel: Tunnel, node: Node, kind: str, *words: str) -> None:
    """Makes an interface of that kind from the node's address to that of its one peer, and settles it."""
    [peer] = tunnel.place.peers(node)
    here, there = tunnel.place.below[node.name].address, tunnel.place.below[peer].address
    interface = tunnel.place.above[node.name].interface
    node.run("ip", "link", "add", interface, "type", kind, "local", here, "remote", there, *words)
    tunnel.settle(node)
