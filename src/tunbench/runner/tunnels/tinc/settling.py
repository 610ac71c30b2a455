"""How one waits until packets of tinc go by UDP from one node to others."""

from collections.abc import Sequence
from typing import NamedTuple

from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Tunnel

# Frames go through the connection by TCP until a probe of their size has come back by UDP. A packet makes the daemon
# ask for its peer's key; SIGUSR2 makes it write to its log what it has found out of all. $1 is the file with its
# process ID, $2 the log, $3 the bytes of a full frame, $4 the interface, and each word of the rest PEER=ADDRESS, where
# a packet to the address makes the daemon send to the peer; one without an address has been sent to already.
SETTLED = """\
set -e
pid=$(cat "$1") log=$2 frame=$3 interface=$4
shift 4
for hop; do
    there=${hop#*=}
    test -z "$there" || ping -n -I "$interface" -c 2 -i 0.2 -W 0.5 "$there" &
done
wait
kill -USR2 "$pid"
sleep 0.5
for hop; do
    found=$(grep "^ ${hop%%=*} at " "$log" | tail -n 1 | sed -n 's/.*(min \\([0-9]*\\) max.*/\\1/p')
    test "$found" -ge "$frame"
done
"""

UDP_TIMEOUT = 25.0
"""Seconds, once for each node: the daemon sends probes of random sizes once a second."""

SEARCH_TIMEOUT = 12.0
"""Seconds in which a first probe has come back, or none will: behind the tenth the daemon sends no more for a minute
(tinc 1.0.36, src/net_packet.c, send_mtu_probe())."""

ANY_SIZE = 1
"""Bytes of a frame that goes by UDP where any does."""


class Hop(NamedTuple):
    """A node that another one sends packets to itself."""

    peer: str
    # Where a ping must go so that a packet takes the hop; empty where none is needed.
    address: str


def begin(tunnel: Tunnel, node: Node, frame: int, hops: Sequence[Hop]) -> None:
    """Lets a node send its first packets, so that its daemon probes while others do."""
    node.try_run(*_asking(tunnel, node, frame, hops))


def wait(tunnel: Tunnel, node: Node, frame: int, hops: Sequence[Hop]) -> None:
    """Waits until frames of a size go by UDP from a node to all of these, and back. Raises StackFailed."""
    peers = " and ".join(hop.peer for hop in hops)
    what = f"full packets of {node.name} did not go by UDP to {peers}"
    tunnel.wait(node, *_asking(tunnel, node, frame, hops), timeout=UDP_TIMEOUT, what=what)


def search(tunnel: Tunnel, node: Node, frame: int, hop: Hop) -> bool:
    """Gives the daemon time to find out whether frames go by UDP, and if so those of a size; whether any do."""
    found = node.until(*_asking(tunnel, node, ANY_SIZE, [hop]), timeout=SEARCH_TIMEOUT, unless=tunnel.ended)
    if found:
        node.until(*_asking(tunnel, node, frame, [hop]), timeout=UDP_TIMEOUT, unless=tunnel.ended)
    return found


def _asking(tunnel: Tunnel, node: Node, frame: int, hops: Sequence[Hop]) -> tuple[str, ...]:
    """The command that says so."""
    interface = tunnel.context.above[node.name].interface if node.name in tunnel.context.above else ""
    known = (str(tunnel.file(node.name, "pid")), str(node.log(tunnel.log)), str(frame), interface)
    return ("sh", "-c", SETTLED, "settled", *known, *(f"{hop.peer}={hop.address}" for hop in hops))
