"""Sees what leaves the lab: everything that no node answers for arrives at the edge, and is captured there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tunbench.runner.node.events import Events
from tunbench.runner.node.node import Node
from tunbench.runner.proof import capture

# What every Linux interface says on its own: address resolution, group membership, discovery of IPv6 neighbours. Where
# a bridge stands in the middle it arrives at the edge as IEEE 802.1AE protects it too, beside the frames of 802.1X.
CHATTER = (
    "not arp and not icmp6 and not igmp and not (ip6 multicast and ip6 proto 0) and not ether proto 0x888e "
    "and not (ether proto 0x88e5 and ether multicast)"
)

MAX_PACKETS = 20
"""Packets that are told at most; the count is told always."""


@contextmanager
def watched(edge: Node, events: Events) -> Iterator[None]:
    """Captures what arrives at the edge, and tells it at the end."""
    path, mac = edge.home / "outside.pcap", edge.read_if_there(Path("/sys/class/net/eth0/address")).strip()
    # A bridge floods frames for a node that it has not heard for long: those are not for the edge.
    with capture.capturing(edge, "eth0", path, f"{CHATTER} and (ether dst {mac} or ether multicast)"):
        yield
    if capture.is_empty(edge, path):
        return
    lines = edge.ask("tcpdump", "-r", str(path), "-n", "-t").stdout.splitlines()
    if lines:
        events.tell("outside", packets=len(lines), first=lines[:MAX_PACKETS])
