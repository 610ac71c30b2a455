"""How one waits until packets of tinc go by UDP from one node to another one."""

from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Tunnel

# Frames go through the connection by TCP until a probe of their size has come back by UDP. A packet makes the daemon
# ask for its peer's key; SIGUSR2 makes it write to its log what it has found out. $1 is the file with its process ID,
# $2 the log, $3 the peer, $4 the bytes of a full frame, and the rest the ping.
SETTLED = """\
set -e
pid=$(cat "$1") log=$2 peer=$3 frame=$4
shift 4
"$@"
kill -USR2 "$pid"
sleep 0.5
found=$(grep "^ $peer at " "$log" | tail -n 1 | sed -n 's/.*(min \\([0-9]*\\) max.*/\\1/p')
test "$found" -ge "$frame"
"""

UDP_TIMEOUT = 25.0
"""Seconds, once for each node: the daemon sends probes of random sizes once a second."""

SEARCH_TIMEOUT = 12.0
"""Seconds in which a first probe has come back, or none will: behind the tenth the daemon sends no more for a minute
(tinc 1.0.36, src/net_packet.c, send_mtu_probe())."""

ANY_SIZE = 1
"""Bytes of a frame that goes by UDP where any does."""


def wait(tunnel: Tunnel, node: Node, peer: str, frame: int, packets: tuple[str, ...]) -> None:
    """Waits until frames of a size go by UDP from a node to its peer, and back. Raises StackFailed."""
    what = f"{peer} had no full packet of {node.name} by UDP"
    tunnel.wait(node, *_asking(tunnel, node, peer, frame, packets), timeout=UDP_TIMEOUT, what=what)


def search(tunnel: Tunnel, node: Node, peer: str, frame: int, packets: tuple[str, ...]) -> bool:
    """Gives the daemon time to find out whether frames go by UDP, and if so those of a size; whether any do."""
    found = node.until(*_asking(tunnel, node, peer, ANY_SIZE, packets), timeout=SEARCH_TIMEOUT, unless=tunnel.ended)
    if found:
        node.until(*_asking(tunnel, node, peer, frame, packets), timeout=UDP_TIMEOUT, unless=tunnel.ended)
    return found


def _asking(tunnel: Tunnel, node: Node, peer: str, frame: int, packets: tuple[str, ...]) -> tuple[str, ...]:
    """The command that says so; `packets` are a command that sends some."""
    known = (str(tunnel.file(node.name, "pid")), str(node.log(tunnel.log)), peer, str(frame))
    return ("sh", "-c", SETTLED, "settled", *known, *packets)
