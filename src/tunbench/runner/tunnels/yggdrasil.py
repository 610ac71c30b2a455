"""Yggdrasil: an end-to-end encrypted IPv6 overlay whose addresses follow from keys, over TLS or TCP."""

from collections.abc import Mapping
from typing import NamedTuple

from tunbench.runner.declare.kernel_module import Module
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.packet_format import TCP, TLS, Header
from tunbench.runner.declare.path import DIRECT, Finder, Path, demanded
from tunbench.runner.declare.topology import RELAY
from tunbench.runner.declare.tunnel import About, Claims, Needs
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import kernel_modules, mesh, paths

# Each line that is not the daemon's own default has its reason. The key is added by a command: it is a secret.
CONFIG = """\
{connections}
IfName: {interface}
# The daemon's own default is the largest that it takes.
IfMTU: {size}
# The peers are named above: nobody is looked for on the underlay.
MulticastInterfaces: []
# Nobody asks the daemon for its state.
AdminListen: none
"""

LISTEN = "# All that come after it are peers of this node.\nListen: [{uris}]"
PEERS = "# The peers that were there before it; all others are found through them.\nPeers: [{uris}]"
NO_INTERFACE = "none"
"""The interface of a node that passes packets on and has none of its own."""

URI = '"{transport}://{host}:{port}"'

PREFIX = 7
"""The prefix length of 200::/7, which the daemon gives its interface."""

LARGEST_MTU = 53049
"""Bytes: what the daemon makes of the 65535 in its default configuration, by PacketConn.MTU() of its library."""

WIRE = "ironwood ec61cea2f439, network/wire.go and network/pathfinder.go"
SESSION = "ironwood ec61cea2f439, encrypted/session.go, doSend()"
START = "((tcp[12] & 0xf0) >> 2)"
"""The size of a TCP header, by its data offset, as an offset for a pcap filter."""


# The daemon asks the kernel for BBR congestion control, and goes on with the default where there is none.
TCP_BBR = Module("tcp_bbr", "sysctl -qw net.ipv4.tcp_congestion_control=bbr")


class Transport(NamedTuple):
    """What a peering runs over: its headers beside TCP's, and the pcap filter of traffic."""

    headers: tuple[Header, ...]
    evidence: str


TRANSPORTS = {
    # A TLS record of application data.
    "tls": Transport((TLS,), f"tcp[0 + {START}] = 0x17"),
    # Behind the length, the type of the message: traffic by the tree or by a path.
    "tcp": Transport((), f"(tcp[2 + {START}] = 9 or tcp[2 + {START}] = 10)"),
}

PATHS = {
    DIRECT: Path("from end to end"),
    RELAY: Path("through a third node, which is a peer of all and cannot read them", through=RELAY),
}

CONFIGURED = "Yggdrasil's documentation: peerings are configured, by addresses that are reached"


TRAFFIC = (
    Header("length and type", 3, WIRE),
    # Who passes a packet on takes its own port away: a byte more for each peering ahead, and the end alone on the last.
    Header("path", 1, WIRE),
    Header("source key, destination key, kind", 65, WIRE),
    Header("session type and key sequences", 3, SESSION),
    # A varint: a byte longer from the 128th packet of a session on, from the 16384th on, and so forth.
    Header("nonce", 1, SESSION),
    Header("Poly1305 tag", 16, SESSION),
    Header("next key", 32, SESSION),
    Header("type", 1, "Yggdrasil 0.4.7, src/core/core.go, WriteTo()"),
)
"""What a packet has on the last peering, where it comes to its destination."""


class Yggdrasil(Tunnel):
    """Each endpoint is a peer of those that it is joined with, or of a relay; the daemon gives addresses and routes."""

    about = About(
        name="yggdrasil",
        summary="Yggdrasil 0.4 in user space: IPv6 with addresses from keys, over TLS or TCP",
        layer=3,
        claims=Claims(confidentiality=True, integrity=True, replay_protection=True),
        evidence=f"tcp port {{port}} and {TRANSPORTS['tls'].evidence}",
        options={
            "transport": Option("choice", "tls", "what a peering runs over", choices=tuple(TRANSPORTS)),
            "relay": Option("switch", "off", "a node that is a peer of all endpoints is there, and passes packets on"),
            "port": Option("count", "9001", "TCP port of every endpoint that listens", low=1, high=65535),
        },
        families=(6,),
        outer=(4, 6),
        # All of its interfaces would have the same route.
        exclusive=(),
        ports=("tcp {port}",),
        relays=True,
        paths=PATHS,
        finds=Finder(False, CONFIGURED, RELAY, without_udp=RELAY, asks_by_tcp=True),
        # TCP below makes no fragments of any.
        largest_mtu=LARGEST_MTU,
        own_mtu=LARGEST_MTU,
        # No version: Debian's build prints "unknown"; the packages of the image tell it.
        packages=("yggdrasil",),
        needs=Needs(modules=(kernel_modules.TUN, TCP_BBR), programs=("yggdrasil",)),
        startup_seconds=3,
        user_space=True,
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """The transport brings headers and evidence. Sizes hold for a packet that goes into one TCP segment.

        Raises ValueError where there would be a relay that carries nothing.
        """
        transport, relayed = TRANSPORTS[str(options["transport"])], paths.has_relay(options)
        paths.check_relay(cls.about.name, options)
        return cls.about._replace(
            evidence=f"tcp port {{port}} and {transport.evidence}",
            headers=(TCP, *transport.headers, *TRAFFIC),
            paths=PATHS if relayed else {DIRECT: PATHS[DIRECT]},
            roles=(RELAY,) if relayed else (),
            control=("tcp:{port}",) if relayed else (),
        )

    def prepare(self, nodes: Nodes) -> None:
        """Makes keys and configuration, and learns the addresses that follow from the keys."""
        for node in nodes.values():
            settings, generated = self.file(node.name, "settings"), self.file(node.name, "generated")
            config, address = self.file(node.name, "conf"), self.file(node.name, "address")
            node.write(settings, CONFIG.format(**self._values(node)))
            node.run("yggdrasil", "-genconf", into=generated)
            node.run(*("sh", "-c", 'cat "$0"; grep PrivateKey: "$1"', str(settings), str(generated)), into=config)
            if node.name == RELAY:
                continue
            node.run("yggdrasil", "-useconffile", str(config), "-address", into=address)
            overlay = self.context.above[node.name]
            self.context.above[node.name] = overlay._replace(address=node.read_word(address), prefix=PREFIX)

    def _values(self, node: Node) -> Mapping[str, object]:
        """The values in the settings of a node: each connection is made once, by the one that comes later."""
        above = self.context.above.get(node.name) or self.context.above[self.context.first]
        listening, earlier = self._connections(node)
        connections = [
            text.format(uris=", ".join(URI.format(host=self._below[name].host, **self.options) for name in names))
            for text, names in ((LISTEN, [node.name] if listening else []), (PEERS, earlier))
            if names
        ]
        interface = NO_INTERFACE if node.name == RELAY else above.interface
        return {"connections": "\n".join(connections), "interface": interface, "size": above.mtu}

    def _connections(self, node: Node) -> tuple[bool, list[str]]:
        """Whether others connect to a node, and to whom it connects itself: first to a relay."""
        if node.name == RELAY:
            return True, []
        relays = list(self.context.roles)
        if demanded(self.options) == RELAY:
            return False, relays
        earlier = mesh.earlier_peers(self, node)
        return len(earlier) < len(self.context.peers(node)), [*relays, *earlier]

    @property
    def _below(self) -> Mapping[str, Overlay]:
        """What all nodes run over."""
        return {**self.context.below, **self.context.roles}

    def up(self, node: Node, nodes: Nodes) -> None:
        """Starts the daemon, which makes the interface with its address and its route; a relay has none."""
        self.start(node, "yggdrasil", "-useconffile", str(self.file(node.name, "conf")))
        if node.name == RELAY:
            mesh.wait_for_listener(self, node, self.options["port"], "the relay did not listen")
            return
        # It listens before it makes the interface; a peer that nobody listens to tries again only after a minute.
        path = f"/sys/class/net/{self.context.above[node.name].interface}"
        self.wait(node, "test", "-e", path, what=f"{node.name} made no interface")
