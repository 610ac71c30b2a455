"""innernet: WireGuard in the kernel, with a server that tells each peer of all others.

The server, on the node `control`, is a WireGuard peer itself and answers requests through the tunnel alone. It makes an
invitation for each endpoint; with that an endpoint registers a key pair of its own, once. The client asks for the other
peers when it starts and then every minute, and tries all addresses that they have reported, five seconds each. All
endpoints are in one network of the system (a CIDR), so that each sees each; no packet goes through another.

No names are written into /etc/hosts, because the lab has none. Enrolling takes at least five seconds, for which client
and server wait on purpose. All endpoints enrol at once, and ask for their peers when all have.
"""

from collections.abc import Mapping
from pathlib import Path

from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.packet_format import Format
from tunbench.runner.declare.recipe import GCC, Recipe
from tunbench.runner.declare.topology import CONTROL
from tunbench.runner.declare.tunnel import About, Claims, Needs, Sources
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import mesh
from tunbench.runner.tunnels.wireguard import Wireguard, padded

# What an endpoint does from its start on. $0 is the interface, $1 the folder of the client, $2 the invitation, $3 the
# MTU, and the rest are the folders of all clients. Who has not enrolled does it, and keeps the random port that it got:
# where another one is all others would learn only after a while. Who asks before another one has enrolled would hear of
# it after a minute.
RUN = """\
set -e
own=$1 invitation=$2 mtu=$3
shift 3
client="innernet --config-dir $own/config --data-dir $own/data --mtu $mtu"
if ! [ -e "$own/enrolled" ]; then
  mkdir -p "$own/config" "$own/data"
  $client install --default-name --delete-invite --no-write-hosts --no-nat-traversal "$invitation"
  $client set-listen-port "$0" --listen-port "$(wg show "$0" listen-port)" --yes
  touch "$own/enrolled"
fi
for one; do until [ -e "$one/enrolled" ]; do sleep 0.1; done; done
exec $client up --daemon --no-write-hosts "$0"
"""

# Every peer is where it is, and has answered. $0 is the interface, and the rest are the peers' addresses below. While
# that is not so, five times a second is often enough.
CONNECTED = """\
connected() {
  at=$(wg show "$0" endpoints)
  for peer; do echo "$at" | grep -q "[[:blank:]]$peer:[0-9]*$" || return 1; done
  ! wg show "$0" latest-handshakes | grep -q "[[:blank:]]0$"
}
connected "$@" || { sleep 0.2; exit 1; }
"""

DEFAULT_MTU = 1280
"""Bytes, whatever is below: innernet 2.0.0, shared/src/wg.rs, up()."""

PREFIX = 16
"""The prefix length of the whole network: the server has the first address, and endpoints a /24 of their own."""

PEERS_TIMEOUT = 50.0
"""Seconds in which an endpoint must have all of its peers."""


RECIPE = Recipe(
    name="innernet",
    version="2.0.0",
    language="rust",
    parts={"innernet": "innernet", "innernet-server": "innernet-server"},
    oldest="1.82",
    seconds=270,
    space=4e8,
    calls=GCC,
)


class Innernet(Tunnel):
    """A server on the node `control`; each endpoint enrols with an invitation that can be used once."""

    about = About(
        name="innernet",
        summary="innernet: WireGuard in the kernel, its peers from a server in the tunnel",
        layer=3,
        claims=Claims(confidentiality=True, integrity=True, replay_protection=True),
        # Every endpoint has a port of its own choice.
        evidence="udp[8:4] = 0x04000000",
        headers=Wireguard.about.headers,
        options={
            "port": Option("count", "51820", "UDP port of the server; endpoints have random ones", low=1, high=65535),
        },
        exclusive=("port",),
        ports=("udp {port}",),
        # A peer is sent packets for its own address alone.
        routes=False,
        roles=(CONTROL,),
        control=("udp:{port}",),
        # The server disables peers and renames them, and takes none away.
        rejoins=False,
        own_mtu=DEFAULT_MTU,
        packages=("linux-image-amd64", "wireguard-tools"),
        version=("innernet", "--version"),
        framing=Wireguard.about.framing,
        needs=Needs(
            modules=Wireguard.about.needs.modules, programs=("innernet", "innernet-server", "wg"), tools=("innernet",)
        ),
        sources=Sources(packages=Wireguard.about.sources.packages, recipes=(RECIPE,)),
        startup_seconds=3,
    )

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        """Packets are padded as the kernel does it."""
        return padded(super().format(options, outer))

    @classmethod
    def yields(cls, options: Options, index: int, below: Mapping[str, Overlay]) -> dict[str, Overlay]:
        """Addresses beside that of the server, which has the first one of the whole network."""
        return {
            name: overlay._replace(address=f"10.{10 + index}.1.{number}", prefix=PREFIX)
            for number, (name, overlay) in enumerate(super().yields(options, index, below).items(), start=1)
        }

    def prepare(self, nodes: Nodes) -> None:
        """Makes the network and an invitation for each endpoint."""
        self._make(nodes[CONTROL])

    @property
    def _network(self) -> str:
        """The name of the network, and of the interface on every node."""
        return next(iter(self.context.above.values())).interface

    def _server(self, *words: str) -> tuple[str, ...]:
        state = self.file(CONTROL, "server")
        return ("innernet-server", "--config-dir", str(state), "--data-dir", str(state), *words)

    def _invitation(self, node: str) -> Path:
        return self.file(CONTROL, f"{node}.toml")

    def _client(self, node: str) -> Path:
        return self.file(node, "client")

    def _make(self, control: Node) -> None:
        index, port = self.context.position, str(self.options["port"])
        control.run(
            *self._server("new", "--network-name", self._network, "--network-cidr", f"10.{10 + index}.0.0/{PREFIX}"),
            *("--external-endpoint", f"{self.context.roles[CONTROL].host}:{port}", "--listen-port", port),
        )
        cidr = ("--name", "endpoints", "--cidr", f"10.{10 + index}.1.0/24", "--parent", self._network, "--yes")
        control.run(*self._server("add-cidr", self._network, *cidr))
        for name, overlay in self.context.above.items():
            control.run(
                *self._server(
                    "add-peer", self._network, "--name", name, "--cidr", "endpoints", "--ip", overlay.address
                ),
                *("--admin", "false", "--invite-expires", "1d", "--yes"),
                *("--save-config", str(self._invitation(name))),
            )

    def up(self, node: Node, nodes: Nodes) -> None:
        """Starts the server, or a client."""
        if node.name == CONTROL:
            self._serve(node)
            return
        overlay = self.context.above[node.name]
        words = (self._client(node.name), self._invitation(node.name), overlay.mtu)
        clients = map(self._client, self.context.above)
        self.start(node, "sh", "-c", RUN, overlay.interface, *map(str, (*words, *clients)))

    def joined(self, nodes: Nodes) -> None:
        """Waits until all have reached all."""
        for node in mesh.endpoints(self, nodes):
            places = [self.context.below[peer] for peer in self.context.peers(node)]
            addresses = [place.host for place in (*places, self.context.roles[CONTROL])]
            what = f"{node.name} did not reach all of its peers"
            self.wait(node, "sh", "-c", CONNECTED, self._network, *addresses, timeout=PEERS_TIMEOUT, what=what)

    def _serve(self, node: Node) -> None:
        mtu = str(next(iter(self.context.above.values())).mtu)
        self.start(node, *self._server("--mtu", mtu, "serve", "--no-write-hosts", self._network))
        address = f"10.{10 + self.context.position}.0.1:{self.options['port']}"
        listening = ("sh", "-c", 'ss -Hltn src "$0" | grep -q .', address)
        self.wait(node, *listening, what="innernet-server did not listen")

    def down(self, node: Node) -> None:
        """Ends the client or the server; the interface stays when they end, and is removed."""
        super().down(node)
        if node.name == CONTROL:
            node.try_run("ip", "link", "del", self._network)

    def forget(self, node: Node) -> None:
        """Takes away the keys and peers of a client; the server begins again, with new invitations."""
        if node.name == CONTROL:
            node.run(
                "rm", "-rf", str(self.file(CONTROL, "server")), *map(str, map(self._invitation, self.context.above))
            )
            self._make(node)
        else:
            node.run("rm", "-rf", str(self._client(node.name)))
