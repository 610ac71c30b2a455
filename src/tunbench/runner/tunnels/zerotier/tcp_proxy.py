"""ZeroTier's TCP proxy on the node `relay`, through which endpoints send all that they send where a plan demands it."""

from tunbench.runner.declare.packet_format import Header
from tunbench.runner.declare.path import DIRECT, Path
from tunbench.runner.declare.topology import RELAY
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Tunnel
from tunbench.runner.tunnels.shared import mesh, paths

RELAY_TCP = "relay-tcp"

PROGRAM, PORT = "tcp-proxy", 443
"""As its Makefile calls it, and where it listens: ZeroTier One 1.14.1, tcp-proxy/tcp-proxy.cpp,
ZT_TCP_PROXY_TCP_PORT."""

PATHS = {
    DIRECT: Path("from end to end, by UDP"),
    RELAY_TCP: Path("by TCP through ZeroTier's TCP proxy, which is brought", f"tcp port {PORT}", through=RELAY),
}

SERVICE = "ZeroTier One 1.14.1, service/OneService.cpp, nodeWirePacketSendFunction()"

RECORD = Header("record as of TLS, family, address and port", 12, SERVICE)
"""What a packet has before it in the connection."""

# It says of each packet that it has passed it on.
SERVE = 'exec "$0" >/dev/null'

TUNNELED = " TUNNELED$"
"""What a daemon says of itself where its packets go through the proxy: ZeroTier One 1.14.1, one.cpp, `info`."""


def settings(tunnel: Tunnel) -> dict[str, object]:
    """The settings by which an endpoint sends nothing but through the proxy, where there is one.

    A daemon of its own accord takes it where no packet has come for a minute, and goes on to try UDP.
    """
    if RELAY not in tunnel.context.roles:
        return {}
    proxy = f"{tunnel.context.roles[RELAY].host}/{PORT}"
    return {"allowTcpFallbackRelay": True, "tcpFallbackRelay": proxy, "forceTcpRelay": True}


def serve(tunnel: Tunnel, node: Node) -> None:
    """Starts the proxy, and waits until it listens."""
    tunnel.start(node, "sh", "-c", SERVE, PROGRAM)
    mesh.wait_for_listener(tunnel, node, PORT, "nobody listened as the TCP proxy")


def wait(tunnel: Tunnel, node: Node, asking: tuple[str, ...]) -> None:
    """Waits until the daemon of an endpoint, which `asking` asks, says that it goes through the proxy."""
    what = f"{node.name} found no {RELAY_TCP} path"
    mesh.wait_for_line(tunnel, node, TUNNELED, *asking, what=what, timeout=paths.DEMANDED_TIMEOUT)
