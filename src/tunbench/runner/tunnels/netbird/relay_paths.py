"""The paths of NetBird: direct ones, those through its relay by QUIC or WebSocket, and those through a TURN server."""

from typing import NamedTuple

from tunbench.runner.declare.options import Options
from tunbench.runner.declare.packet_format import TCP, TLS, UDP, Header
from tunbench.runner.declare.path import DIRECT, Finder, Path
from tunbench.runner.declare.topology import CONTROL
from tunbench.runner.declare.topology import RELAY as RELAY_ROLE
from tunbench.runner.declare.tunnel import Addon
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Tunnel

RELAY = 33080
"""The port of the relay on the node `control`, of UDP for QUIC and of TCP for WebSocket."""

COTURN = Addon("coturn", ("coturn",))

PATHS = {
    DIRECT: Path("from end to end, by ICE"),
    "turn": Path("by ICE through a TURN server (coturn) on a node of its own", evidence="udp", through=RELAY_ROLE),
    "relay-quic": Path("through NetBird's relay by QUIC", evidence=f"udp port {RELAY}", through=CONTROL),
    "relay-ws": Path("through NetBird's relay by WebSocket", evidence=f"tcp port {RELAY}", through=CONTROL),
}

FINDS = Finder(
    True, "NetBird's documentation: ICE, and a relay by QUIC or WebSocket", relay="relay-quic", without_udp="relay-ws"
)

UNASKED = {name: path for name, path in PATHS.items() if name != "turn"}
"""Those that are there without being asked for."""


MESSAGE = Header("of the relay: version, type, peer", 38, "NetBird 0.71.4, shared/relay/messages/message.go")

HEADERS = {
    "turn": (UDP, Header("TURN ChannelData", 4, "RFC 8656, section 12.4")),
    "relay-quic": (
        UDP,
        Header("QUIC short header", 3, "RFC 9000, section 17.3.1; quic-go: no connection ID towards a client"),
        Header("DATAGRAM frame", 3, "RFC 9221, section 4"),
        Header("AEAD tag", 16, "RFC 9001, section 5.3"),
        MESSAGE,
    ),
    "relay-ws": (TCP, TLS, Header("WebSocket, at most", 4, "RFC 6455, section 5.2"), MESSAGE),
}
"""What packets of WireGuard have before them where they come from a relay, in the place of the header of UDP."""

SPARE = {"relay-ws": 2}
"""Bytes by which that is smaller before a short packet."""


class Forced(NamedTuple):
    """What makes a client take a path: its environment, and the protocol by which the relay must not be reached."""

    environment: tuple[str, ...] = ()
    without: str = ""


FORCED = {
    "turn": Forced(("NB_ICE_FORCE_RELAY_CONN=true",)),
    # A client tries both, and takes the one by which it is answered first: NetBird 0.71, shared/relay/client.
    "relay-quic": Forced(("NB_FORCE_RELAY=true",), without="tcp"),
    "relay-ws": Forced(("NB_FORCE_RELAY=true",), without="udp"),
}

SHUT_OUT = """\
table inet {table} {{
    chain input {{
        type filter hook input priority filter; policy accept;
        {protocol} dport {port} drop
    }}
}}
"""

COUNT = """\
count=$(netbird status --daemon-addr "$0" --json | grep -o "\\"connectionType\\":\\"$2\\"" | wc -l)
test "$count" -eq "$1" || { sleep 0.2; false; }
"""
"""Shell text: whether a client has so many paths of a kind. Asking costs the client more than waiting does."""

TURNSERVER = (
    *("turnserver", "-n", "--lt-cred-mech", "--user", "lab:lab", "--realm", "lab", "--no-tls", "--no-dtls"),
    *("--no-cli", "--no-multicast-peers", "--log-file", "stdout"),
)
"""It listens by UDP and TCP, and keeps nothing; the words by which clients are known guard nothing here."""


def headers(options: Options) -> tuple[Header, ...]:
    """What stands before a packet of WireGuard on the path that a plan demands, else on a direct one."""
    return HEADERS.get(str(options["path"]), (UDP,))


def spare(options: Options) -> int:
    """Bytes by which a packet can be smaller on that path than its headers say."""
    return SPARE.get(str(options["path"]), 0)


def kind_of(path: str) -> str:
    """What a client calls a path."""
    return "P2P" if path == DIRECT else "Relayed"


def environment(tunnel: Tunnel) -> tuple[str, ...]:
    """What makes a client take the path that a plan demands."""
    return FORCED.get(str(tunnel.options["path"]), Forced()).environment


def shut_others_out(tunnel: Tunnel, node: Node) -> None:
    """Leaves but one protocol by which the relay is reached, where a plan demands it."""
    if protocol := FORCED.get(str(tunnel.options["path"]), Forced()).without:
        rules = tunnel.file(node.name, "relay.nft")
        node.write(rules, SHUT_OUT.format(table=tunnel.about.name, protocol=protocol, port=RELAY))
        node.run("nft", "-f", str(rules))


def let_others_in(tunnel: Tunnel, node: Node) -> None:
    """Takes away what `shut_others_out` has done."""
    if FORCED.get(str(tunnel.options["path"]), Forced()).without:
        node.try_run("nft", "delete", "table", "inet", tunnel.about.name)


def serve_turn(tunnel: Tunnel, node: Node, port: int) -> None:
    """Starts the TURN server."""
    here = tunnel.context.roles[RELAY_ROLE].address
    pidfile = tunnel.file(node.name, "turn.pid")
    addresses = ("--listening-ip", here, "--relay-ip", here, "--listening-port", str(port), "--pidfile", str(pidfile))
    tunnel.start(node, *TURNSERVER, *addresses)
