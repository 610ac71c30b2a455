"""wesher: a mesh of WireGuard in the kernel whose members find each other by gossip.

All others join at the first endpoint. Who has the cluster's key is a member, and tells all others its own WireGuard
key, which is made anew at each start. No packet goes through another member. The addresses follow from the names of the
nodes: the last two bytes of a hash, in a network of 65,536 addresses.

No entries for /etc/hosts are written, because the lab has no names. The MTU cannot be set: it is 1420, whatever is
below.
"""

from collections.abc import Mapping
from pathlib import Path

from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.packet_format import Format
from tunbench.runner.declare.recipe import Recipe
from tunbench.runner.declare.tunnel import About, Claims, Needs, Sources
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import mesh
from tunbench.runner.tunnels.wireguard import Wireguard, padded

# The program takes its key from a flag, which everybody could see, or from the environment. $0 is the file with it.
RUN = 'WESHER_CLUSTER_KEY=$(cat "$0") exec wesher "$@"'

# $0 is the interface, and the rest are the peers where they listen.
CONNECTED = 'at=$(wg show "$0" endpoints) && for peer; do echo "$at" | grep -q "[[:blank:]]$peer$" || exit 1; done'

MTU = 1420
"""Bytes of the interface: wesher 0.2.6, wireguard.go, setUpInterface()."""

PEERS_TIMEOUT = 30.0
"""Seconds in which an endpoint must have its peers: a failed attempt to join is repeated after 0.5 s, then later."""

OFFSET, PRIME = 0x6C62272E07BB014262B821756295C58D, 0x1000000000000000000013B
"""FNV-1a with 128 bits: Go 1.26, src/hash/fnv/fnv.go."""

STATE = "/var/lib/wesher"
"""Where the program keeps the cluster's key and its members: a folder of the node's own."""


RECIPE = Recipe(
    name="wesher",
    version="0.2.6",
    language="go",
    module="github.com/costela/wesher",
    parts={"wesher": "."},
    oldest="1.13",
    seconds=45,
    space=1.5e8,
    stamps=("main.version",),
)


class Wesher(Tunnel):
    """A program a node that joins the cluster by a common key, and gives the kernel's WireGuard its peers."""

    about = About(
        name="wesher",
        summary="wesher: WireGuard in the kernel, its peers by gossip among members that have a common key",
        layer=3,
        claims=Claims(confidentiality=True, integrity=True, replay_protection=True),
        # What members tell each other is as large as data, goes the same way, and can come at any time.
        evidence=f"({Wireguard.about.evidence}) or port {{cluster-port}}",
        headers=Wireguard.about.headers,
        options={
            "port": Option("count", "51820", "UDP port of every endpoint's WireGuard", low=1, high=65535),
            "cluster-port": Option("count", "7946", "UDP and TCP port of the gossip", low=1, high=65535),
        },
        # Its state has one place on a node.
        exclusive=(),
        ports=("udp {port}", "udp {cluster-port}", "tcp {cluster-port}"),
        # A peer is sent packets for its own address alone.
        routes=False,
        packages=("linux-image-amd64", "wireguard-tools"),
        version=("wesher", "--version"),
        framing=Wireguard.about.framing,
        needs=Needs(modules=Wireguard.about.needs.modules, programs=("wesher", "wg"), tools=("wesher",)),
        sources=Sources(packages=Wireguard.about.sources.packages, recipes=(RECIPE,)),
        startup_seconds=3,
    )

    @classmethod
    def takes(cls) -> dict[str, Option]:
        """The MTU is no option: the program sets it again with each member that comes or goes."""
        return {name: option for name, option in super().takes().items() if name != "mtu"}

    @classmethod
    def mtu(cls, options: Options, below: Overlay) -> int:
        """The program's own: it does not follow from what is below."""
        return MTU

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        """Packets are padded as the kernel does it."""
        return padded(super().format(options, outer))

    @classmethod
    def yields(cls, options: Options, index: int, below: Mapping[str, Overlay]) -> dict[str, Overlay]:
        """The addresses follow from the names of the nodes. Raises ValueError where two have the same."""
        given = {
            name: overlay._replace(address=address(index, name), prefix=32)
            for name, overlay in super().yields(options, index, below).items()
        }
        if len({overlay.address for overlay in given.values()}) < len(given):
            raise ValueError(f"wesher: among {len(given)} endpoints are two whose names give the same address")
        return given

    def prepare(self, nodes: Nodes) -> None:
        """Makes the key of the cluster."""
        nodes[self.context.first].run("openssl", "rand", "-base64", "32", into=self._key)

    @property
    def _key(self) -> Path:
        return self.file(self.context.first, "key")

    def up(self, node: Node, nodes: Nodes) -> None:
        """Starts the program; all others join at the first endpoint."""
        above, below = self.context.above[node.name], self.context.below[node.name]
        first = self.context.first
        join = [] if node.name == first else [f"--join={self.context.below[first].address}"]
        self.start(
            *(node, "sh", "-c", RUN, str(self._key), f"--bind-addr={below.local}", f"--interface={above.interface}"),
            *(f"--overlay-net={network(self.context.position)}", f"--wireguard-port={self.options['port']}"),
            *(f"--cluster-port={self.options['cluster-port']}", "--no-etc-hosts", "--log-level=info", *join),
        )

    def joined(self, nodes: Nodes) -> None:
        """Waits until all have all of their peers."""
        for node in nodes.values():
            script = ("sh", "-c", CONNECTED, self.context.above[node.name].interface, *mesh.listening(self, node))
            what = f"{node.name} did not learn where all of its peers are"
            self.wait(node, *script, timeout=PEERS_TIMEOUT, what=what)

    def forget(self, node: Node) -> None:
        """Takes away the members that the program knew."""
        node.run("rm", "-rf", STATE)


def network(index: int) -> str:
    """The network of the layer at that index."""
    return f"10.{10 + index}.0.0/16"


def address(index: int, name: str) -> str:
    """The address of a node, by its name: wesher 0.2.6, wireguard.go, assignOverlayAddr()."""
    value = OFFSET
    for byte in name.encode():
        value = (value ^ byte) * PRIME % 2**128
    return f"10.{10 + index}.{value >> 8 & 0xFF}.{value & 0xFF}"
