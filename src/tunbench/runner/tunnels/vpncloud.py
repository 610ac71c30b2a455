"""VpnCloud: a mesh of peers in user space over UDP, without a control plane.

Every endpoint has a key pair of its own, trusts the keys of its peers, and is told where all of them are. Among the
ciphers that both ends allow the daemon takes the one that was the fastest in a test as it started, of 0.1 s each.
Packets go from peer to peer; the daemon passes nothing on.

It looks for a router that can open a port (UPnP) where there may be one. The MTU is the daemon's own: it leaves room
for an outer IPv6 header in any case.
"""

from pathlib import Path

from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.packet_format import UDP, Header
from tunbench.runner.declare.recipe import GCC, Recipe
from tunbench.runner.declare.tunnel import About, Claims, Needs, Sources
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import kernel_modules, mesh, secrets

# Each line that is not the daemon's own default has its reason.
CONFIG = """\
listen: "{port}"
peers: [{peers}]
crypto:
  private-key: "{secret}"
  algorithms: [{algorithms}]
device:
  name: "{interface}"
# What it finds out itself of the interface's address is wrong when it was built with a Rust of today: 0.0.0.N.
auto-claim: false
claims: ["{address}/32"]
# There is no setting for the MTU.
ifup: "ip link set dev $IFNAME mtu {mtu} up && ip address add {cidr} dev $IFNAME"
# No router is asked to open a port where none would.
port-forwarding: {asks}
"""

CIPHERS = {
    # The daemon's own default: all but none.
    "fastest": "AES128, AES256, CHACHA20",
    "aes128": "AES128",
    "aes256": "AES256",
    "chacha20": "CHACHA20",
    "none": "PLAIN",
}
"""The algorithms that the configuration allows."""

# A key that begins with a zero byte loses it in base 62, and is refused when it is read (src/util.rs, to_base62());
# keys of 43 digits, the most there are, have lost none.
GENKEY = """\
while pair=$(vpncloud genkey) || exit; [ "$(echo "$pair" | grep -Ec ' [0-9A-Za-z]{43}$')" != 2 ]; do :; done
echo "$pair"\
"""
"""Shell text: prints a key pair that the daemon can read back; about 1 in 30 is thrown away."""

KEYS = {"private.key": "s/^Private key: //p", "public.key": "s/^Public key: //p"}
"""What takes a key out of what the daemon's command prints, by sed."""

# $0 is the daemon's log, and the rest are the peers as they stand there.
CONNECTED = 'for peer; do grep -q "Added peer $peer$" "$0" || exit 1; done'

PEERS_TIMEOUT = 30.0
"""Seconds in which an endpoint must have its peers: all connect at once, and try again each second."""

CORE = "VpnCloud 2.3.0, src/crypto/core.rs, encrypt()"


RECIPE = Recipe(
    name="vpncloud",
    version="2.3.0",
    language="rust",
    parts={"vpncloud": "vpncloud"},
    oldest="1.56",
    seconds=66,
    space=3e8,
    calls=GCC,
)


class Vpncloud(Tunnel):
    """A daemon a node with a key pair; each is told where all others are."""

    about = About(
        name="vpncloud",
        summary="VpnCloud in user space (Ed25519 and X25519, AES-GCM or ChaCha20-Poly1305, UDP)",
        layer=3,
        claims=Claims(confidentiality=True, integrity=True, replay_protection=True),
        # The number of one of four keys; messages that begin a connection have 255 there.
        evidence="udp port {port} and udp[8] < 4",
        options={
            "cipher": Option("choice", "fastest", "cipher that is allowed on every endpoint", choices=tuple(CIPHERS)),
            "port": Option("count", "3210", "UDP port of every endpoint", low=1, high=65535),
        },
        exclusive=("port",),
        ports=("udp {port}",),
        # That would be a claim in the configuration of each endpoint.
        routes=False,
        version=("vpncloud", "--version"),
        needs=Needs(modules=(kernel_modules.TUN,), programs=("vpncloud",), tools=("vpncloud",)),
        sources=Sources(recipes=(RECIPE,)),
        startup_seconds=2,
        user_space=True,
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """Without a cipher nothing is promised; messages then begin with their type, which is 0 for data."""
        kind = Header("type", 1, "VpnCloud 2.3.0, src/crypto/common.rs, send_message()")
        if options["cipher"] == "none":
            return cls.about._replace(
                claims=Claims(), headers=(UDP, kind), evidence="udp port {port} and udp[8] = 0 and udp[9] & 0xf0 = 0x40"
            )
        sealed = (Header("key, nonce", 8, CORE), kind, Header("AEAD tag", 16, CORE))
        return cls.about._replace(headers=(UDP, *sealed))

    @classmethod
    def mtu(cls, options: Options, below: Overlay) -> int:
        """The MTU that was asked for, or the daemon's own: VpnCloud 2.3.0, src/device.rs, get_overhead()."""
        sealed = {**options, "cipher": "fastest"}
        return int(options["mtu"]) or cls.format(sealed, 6).largest(below.mtu)

    def prepare(self, nodes: Nodes) -> None:
        """Makes a key pair for each node, and the configuration files."""
        for node in nodes.values():
            pair = self.file(node.name, "pair")
            node.run("sh", "-c", GENKEY, into=pair)
            for name, expression in KEYS.items():
                node.run("sed", "-n", expression, str(pair), into=self.file(node.name, name))
            above = self.context.above[node.name]
            text = CONFIG.format(
                port=self.options["port"],
                peers=", ".join(mesh.listening(self, node)),
                secret=secrets.PLACEHOLDER,
                algorithms=CIPHERS[str(self.options["cipher"])],
                interface=above.interface,
                address=above.address,
                cidr=above.cidr,
                mtu=above.mtu,
                asks="true" if node.name in self.context.asking else "false",
            )
            secrets.fill(node, self.file(node.name, "net"), text, self.file(node.name, "private.key"))

    def up(self, node: Node, nodes: Nodes) -> None:
        """Starts the daemon, which makes the interface."""
        log = str(self._log(node))
        keys = [self.file(peer, "public.key") for peer in self.context.peers(node)]
        trusted = [word for key in keys for word in ("--trusted-key", node.read_word(key))]
        node.run("rm", "-f", log)
        self.start(node, "vpncloud", "--config", str(self.file(node.name, "net")), "--log-file", log, *trusted)

    def _log(self, node: Node) -> Path:
        """Where the daemon writes which peers it has."""
        return self.file(node.name, "connections")

    def joined(self, nodes: Nodes) -> None:
        """Waits until all peers are connected."""
        for node in nodes.values():
            script = ("sh", "-c", CONNECTED, str(self._log(node)), *mesh.listening(self, node))
            what = f"{node.name} was not connected with all of its peers"
            self.wait(node, *script, timeout=PEERS_TIMEOUT, what=what)
