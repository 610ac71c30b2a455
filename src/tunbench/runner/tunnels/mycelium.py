"""Mycelium: an end-to-end encrypted IPv6 overlay whose addresses follow from keys, over TCP.

Every endpoint is a peer of those that the topology joins it with. Which way packets take, the daemons agree upon by
Babel; the layer is up when each packet goes to the other end itself. There is no control plane and nobody to enrol
with: whoever has a peer is in. Looking for peers on the local network is turned off, and no public peer is told to it;
its messages, names, proxies and content network are not used. QUIC is turned off: a packet as large as the daemon's own
MTU of 1400 bytes does not fit into a datagram over 1500 bytes there. Sizes are those of a packet that goes into one
segment of TCP; packets that follow each other closely share segments.
"""

from tunbench.runner.declare.options import Option
from tunbench.runner.declare.packet_format import TCP, Header
from tunbench.runner.declare.tunnel import About, Claims, Needs
from tunbench.runner.node.command import ShellWord
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import kernel_modules, mesh

URI = "tcp://{host}:{port}"

PREFIX = 7
"""The prefix length of 400::/7, which the daemon gives its interface."""

LARGEST_MTU = 1400
"""Bytes: Mycelium 0.7.10, mycelium/src/tun/linux.rs, LINK_MTU; its buffers take no more."""

DIRECT_ROUTE_TIMEOUT = 25.0
"""Seconds in which an endpoint must have a direct route to a peer: a connection that fails is tried again after 5."""

START = "((tcp[12] & 0xf0) >> 2)"
"""The size of a TCP header, by its data offset, as an offset for a pcap filter."""

WIRE = "Mycelium 0.7.10, mycelium/src/packet.rs and packet/data.rs"
CRYPTO = "Mycelium 0.7.10, mycelium/src/crypto.rs"


class Mycelium(Tunnel):
    """A daemon a node; each connection is made once, by the endpoint that comes later."""

    about = About(
        name="mycelium",
        summary="Mycelium in user space: IPv6 with addresses from keys, AES-256-GCM from end to end, over TCP",
        layer=3,
        # A nonce is drawn by lot, and what has been seen is not remembered.
        claims=Claims(confidentiality=True, integrity=True),
        # Version 1, type 0 (data).
        evidence=f"tcp port {{port}} and tcp[0 + {START}] = 1 and tcp[1 + {START}] = 0",
        headers=(
            TCP,
            Header("version, type", 4, WIRE),
            Header("length, hop limit", 4, WIRE),
            Header("source, destination", 32, WIRE),
            Header("kind of data", 4, CRYPTO),
            Header("AEAD tag", 16, CRYPTO),
            Header("nonce", 12, CRYPTO),
        ),
        options={"port": Option("count", "9651", "TCP port on which endpoints listen", low=1, high=65535)},
        families=(6,),
        outer=(4, 6),
        # All of its interfaces would have the same route.
        exclusive=(),
        ports=("tcp {port}",),
        # A network behind an endpoint has no address that follows from its key.
        routes=False,
        relays=True,
        largest_mtu=LARGEST_MTU,
        own_mtu=LARGEST_MTU,
        version=("mycelium", "--version"),
        needs=Needs(modules=(kernel_modules.TUN,), brought=("mycelium",)),
        startup_seconds=2,
        user_space=True,
    )

    def prepare(self, nodes: Nodes) -> None:
        """Makes keys, and learns the addresses that follow from them."""
        for node in nodes.values():
            key, told, address = (self.file(node.name, name) for name in ("key", "key.txt", "address"))
            node.run("mycelium", "--key-file", str(key), "generate-keys")
            node.run("mycelium", "--key-file", str(key), "inspect", into=told)
            node.run("sed", "-n", "s/^Address: //p", str(told), into=address)
            # Enough to know a route by; a network is half an address.
            node.run("cut", "-d", ":", "-f", "1-3", str(address), into=self.file(node.name, "network"))
            overlay = self.context.above[node.name]
            self.context.above[node.name] = overlay._replace(address=node.read_word(address), prefix=PREFIX)

    def up(self, node: Node, nodes: Nodes) -> None:
        """Starts the daemon, which makes the interface."""
        overlay, earlier = self.context.above[node.name], mesh.earlier_peers(self, node)
        uris = [URI.format(host=self.context.below[name].host, port=self.options["port"]) for name in earlier]
        self.start(
            *(node, "mycelium", "--key-file", str(self.file(node.name, "key")), "--tun-name", overlay.interface),
            *("--tcp-listen-port", str(self.options["port"]), "--disable-quic", "--disable-peer-discovery"),
            *(["--peers", *uris] if uris else []),
        )
        path = f"/sys/class/net/{overlay.interface}"
        self.wait(node, "test", "-e", path, what=f"{node.name} made no interface")
        self.wait(node, "mycelium", "peers", "list", what=f"mycelium on {node.name} did not answer")
        if overlay.mtu != LARGEST_MTU:
            node.run("ip", "link", "set", overlay.interface, "mtu", str(overlay.mtu))

    def joined(self, nodes: Nodes) -> None:
        """Waits until all routes are direct."""
        for node, peer in mesh.peerings(self, nodes):
            network, there = node.read_word(self.file(peer, "network")), self.context.below[peer].address
            # A socket for both address families writes an address of IPv4 in brackets, as one of IPv6.
            rest = f":.* <-> .*{there}]*:"
            pattern = ShellWord(f"{network}{rest}", f"{network.shell}'{rest}'")
            what = f"{node.name} had no direct route to {peer}"
            routes = ("mycelium", "routes", "selected")
            mesh.wait_for_line(self, node, pattern, *routes, what=what, timeout=DIRECT_ROUTE_TIMEOUT)
