"""Hyprspace: IP packets in streams of libp2p, over QUIC, or over TCP with TLS.

Each endpoint knows the identities of its peers, and the addresses of those that came up before it; those of others it
is told by these. Public peers to begin with, and the distributed hash table behind them, are not told to it. A service
that it asks for addresses by HTTPS is written into the program: a proxy at which nobody listens keeps it from there. It
asks the router for an open port by UPnP and NAT-PMP, and the link by mDNS, whether or not anybody answers; that cannot
be turned off without private addresses being refused. Tried with 0.15.0. The daemon's address of 100.64.0.0/10 is
exchanged for one of the lab, to which its peers have a route. Packets are handed over one by one, in no certain order.
Sizes are bounds: numbers grow, and acknowledgements share packets with data.
"""

import json
from typing import NamedTuple

from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.overlay import ADDRESS_BITS
from tunbench.runner.declare.packet_format import TCP, UDP, Format, Header
from tunbench.runner.declare.tunnel import About, Claims, Needs
from tunbench.runner.node.command import ShellWord
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import kernel_modules, mesh, outside, secrets

DAEMON_NETWORK = "100.64.0.0/10"
"""Where the daemon takes the address from that it gives its interface: config/idhash.go."""

LARGEST_MTU = 1420
"""Bytes: Hyprspace 0.15.0, node/node.go; its buffers take no more."""

INTERFACE_TIMEOUT = 20.0
"""Seconds in which a daemon must have made its interface."""

DIRECT_PATH_TIMEOUT = 30.0
"""Seconds in which an endpoint must be joined with a peer."""

START = "((tcp[12] & 0xf0) >> 2)"
"""The size of a TCP header, by its data offset, as an offset for a pcap filter."""

SPARE = 36
"""Bytes that a second frame has, and that the numbers in the first can be shorter."""

LENGTH = Header("length of the packet", 2, "Hyprspace 0.15.0, node/node.go, sendPacket()")


class Transport(NamedTuple):
    """What streams run over: how libp2p names it, its headers, and the pcap filter of data."""

    address: str
    headers: tuple[Header, ...]
    evidence: str


TRANSPORTS = {
    "quic": Transport(
        "/ip4/{host}/udp/{port}/quic-v1",
        (
            UDP,
            Header("QUIC short header, at most", 9, "RFC 9000, section 17.3.1; quic-go: connection ID of 4 bytes"),
            Header("STREAM frames, at most two", 26, "RFC 9000, section 19.8"),
            Header("AEAD tag", 16, "RFC 9001, section 5.3"),
        ),
        # The short header of QUIC, without which no stream is carried.
        "udp port {port} and udp[8] & 0xc0 = 0x40",
    ),
    "tcp": Transport(
        "/ip4/{host}/tcp/{port}",
        (
            TCP,
            Header("TLS records, content types, AEAD tags, at most two", 44, "RFC 8446, section 5.2"),
            Header("yamux frames, at most two", 24, "yamux specification, section Framing"),
        ),
        # A TLS record of application data.
        f"tcp port {{port}} and tcp[0 + {START}] = 0x17",
    ),
}


class Hyprspace(Tunnel):
    """A daemon a node; who comes later dials those that are there."""

    about = About(
        name="hyprspace",
        summary="Hyprspace in user space: IP packets in streams of libp2p, over QUIC or TCP",
        layer=3,
        claims=Claims(confidentiality=True, integrity=True, replay_protection=True),
        evidence=TRANSPORTS["quic"].evidence,
        options={
            "transport": Option("choice", "quic", "what streams run over", choices=tuple(TRANSPORTS)),
            "port": Option("count", "8001", "UDP or TCP port of every endpoint", low=1, high=65535),
        },
        # Its names and its services are there once in a node.
        exclusive=(),
        ports=("udp {port}", "tcp {port}"),
        # Routes to networks behind others would have to stand in the configuration of each.
        routes=False,
        relays=True,
        largest_mtu=LARGEST_MTU,
        own_mtu=LARGEST_MTU,
        segments=True,
        version=("hyprspace", "version"),
        needs=Needs(modules=(kernel_modules.TUN,), brought=("hyprspace",)),
        startup_seconds=8,
        user_space=True,
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """The transport brings headers and evidence."""
        transport = TRANSPORTS[str(options["transport"])]
        return cls.about._replace(evidence=transport.evidence, headers=(*transport.headers, LENGTH))

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        """Most headers are bounds: the length and the packet may share a frame, whose numbers may be short."""
        return super().format(options, outer)._replace(spare=SPARE)

    def prepare(self, nodes: Nodes) -> None:
        """Makes identities, and a configuration for each node that tells it of its peers."""
        for node in nodes.values():
            key, identity = self.file(node.name, "key"), self.file(node.name, "identity")
            node.run("hyprspace", "keygen", "--private-key-file", str(key), into=identity)
        for node in nodes.values():
            template, public = self.file(node.name, "template.json"), self.file(node.name, "public.json")
            node.write(template, json.dumps(self._configuration(node), indent=1) + "\n")
            node.run("sed", *self._identities(node), str(template), into=public)
            # The key is a secret, and goes from file to file.
            key, config = self.file(node.name, "key"), self.file(node.name, "config.json")
            node.run("sh", "-c", secrets.FILL, str(public), str(key), into=config)

    def _configuration(self, node: Node) -> dict[str, object]:
        """The configuration of a node; a name in angle brackets stands for the identity of an endpoint."""
        peers, earlier = self.context.peers(node), mesh.earlier_peers(self, node)
        width = ADDRESS_BITS[4]
        return {
            "privateKey": secrets.PLACEHOLDER,
            "listenAddresses": [self._address(node.name)],
            "bootstrapPeers": [f"{self._address(name)}/p2p/<{name}>" for name in earlier or peers],
            "peers": [
                {"id": f"<{name}>", "name": name, "routes": [{"net": f"{self.context.above[name].address}/{width}"}]}
                for name in peers
            ],
        }

    def _address(self, name: str) -> str:
        transport = TRANSPORTS[str(self.options["transport"])]
        return transport.address.format(host=self.context.below[name].address, port=self.options["port"])

    def _identities(self, node: Node) -> list[str]:
        """The words that make sed put identities into the configuration of a node."""
        words = []
        for name in self.context.peers(node):
            identity = node.read_word(self.file(name, "identity"))
            words += ["-e", ShellWord(f"s/<{name}>/{identity}/", f"'s/<{name}>/'{identity.shell}'/'")]
        return words

    def up(self, node: Node, nodes: Nodes) -> None:
        """Starts the daemon and gives its interface an address of the lab."""
        overlay = self.context.above[node.name]
        config = str(self.file(node.name, "config.json"))
        self.start(node, "env", outside.NO_HTTPS, "hyprspace", "up", "-c", config, "-i", overlay.interface)
        routes = ("ip", "route", "show", "dev", overlay.interface)
        inside = self.context.above[self.context.peers(node)[0]].address
        what = f"{node.name} made no interface with routes to its peers"
        mesh.wait_for_line(self, node, inside, *routes, what=what, timeout=INTERFACE_TIMEOUT)
        self.settle(node)
        # With the last address its routes would go; with the first, packets have the other one.
        node.run("ip", "-4", "address", "flush", "dev", overlay.interface, "to", DAEMON_NETWORK)

    def joined(self, nodes: Nodes) -> None:
        """Waits until all paths are direct."""
        for node, peer in mesh.peerings(self, nodes):
            # Through a relay it would be another node's address.
            pattern = f"@{peer} (.*) {self._address(peer).rpartition('/')[0]}"
            status = ("hyprspace", "status", "-i", self.context.above[node.name].interface)
            what = f"{node.name} had no direct path to {peer}"
            mesh.wait_for_line(self, node, pattern, *status, what=what, timeout=DIRECT_PATH_TIMEOUT)
