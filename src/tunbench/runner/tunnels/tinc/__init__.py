"""tinc 1.0: a mesh in user space, Ethernet frames in UDP."""

from collections.abc import Mapping
from pathlib import Path

from tunbench.runner.declare import path
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.packet_format import ETHERNET, Format
from tunbench.runner.declare.topology import RELAY
from tunbench.runner.declare.tunnel import About, Claims, Needs, Sources
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import kernel_modules, mesh, paths
from tunbench.runner.tunnels.tinc import packets, settling

# Each line that is not the daemon's own default has its reason.
CONFIG = """\
Name = {name}
Interface = {interface}
Mode = {mode}
ReplayWindow = {window}
PingInterval = {ping-interval}
PingTimeout = {ping-timeout}
KeyExpire = {key-expire}
"""

# The first endpoint is the one that all others connect to; with a relay it is that, and nobody else is.
CONNECT = "ConnectTo = {met}\n"

WITHOUT_INTERFACE = "# It passes packets on, and has none of its own.\nDeviceType = dummy\n"

RELAY_TCP = "relay-tcp"

FORCED = {
    RELAY: "# Who is not connected to it sends through who is.\nIndirectData = yes\n",
    RELAY_TCP: "# It sends and is sent nothing by UDP, and so through who is connected to it.\nTCPOnly = yes\n",
}
"""The lines in the file of an endpoint that leave but one path."""

HOST = """\
Address = {address}
Port = {port}
Cipher = {cipher}
Digest = {digest}
MACLength = {mac}
Compression = {compression}
# Probes begin with the largest frame that there will be, and need not find out what else would pass.
PMTU = {frame}
"""

SUBNET = "Subnet = {inside}\n"

EXPIRED = "Expiring symmetric keys"
"""What the daemon says where its key has lived long enough: tinc 1.0.36, src/net.c, main_loop()."""

KEYS_TIMEOUT = 600.0
"""Seconds: RSA's primes are found by chance, and that took more than 30 s on a machine of 125 million instructions."""

LONGEST_REKEY = 600
"""Seconds of `key-expire` for whose end one waits; the daemon looks once a second or so."""

PATHS = {
    path.DIRECT: path.Path("from end to end, by UDP"),
    RELAY: path.Path("by UDP through a relay, which decrypts packets and encrypts them anew", through=RELAY),
    RELAY_TCP: path.Path("through the relay by the daemons' connections of TCP", "tcp port {port}", through=RELAY),
}

TOLD = "tinc 1.0.36, src/protocol_key.c, ans_key_h(): a relay tells each end from where it hears the other one"


class Tinc(Tunnel):
    """A daemon a node with an RSA key; all others connect to the first endpoint, data goes directly."""

    about = About(
        name="tinc",
        summary="tinc 1.0 in user space, Ethernet frames in UDP",
        layer=3,
        claims=Claims(confidentiality=True, integrity=True, replay_protection=True),
        # All of a packet is encrypted, sequence number included. What goes through a connection by TCP fails this.
        evidence="udp port {port}",
        options={
            "mode": Option("choice", "router", "IP packets or Ethernet frames", choices=("router", "switch")),
            "cipher": Option("choice", "aes-256-cbc", "cipher of UDP packets", choices=tuple(packets.CIPHERS)),
            "digest": Option("choice", "sha256", "digest of the HMAC of UDP packets", choices=tuple(packets.DIGESTS)),
            "mac-length": Option("count", "4", "bytes of the HMAC that are sent", high=64),
            "replay-window": Option(
                "count", "16", "bytes of the replay window, eight packets each; 0: none", high=65536
            ),
            "compression": Option("count", "0", "0: none, 1 to 9: zlib, 10 and 11: LZO", low=0, high=11),
            "relay": Option("switch", "off", "a relay is there, on a node of its own, which all endpoints connect to"),
            "port": Option("count", "655", "UDP and TCP port of every node", low=1, high=65535),
            "ping-interval": Option(
                "count", "60", "seconds of silence behind which a connection is asked for a sign", low=1, high=86400
            ),
            "ping-timeout": Option(
                "count", "5", "seconds that it has for that, at most ping-interval", low=1, high=86400
            ),
            "key-expire": Option(
                "count", "3600", "seconds behind which a node has a new key for UDP packets", low=1, high=86400
            ),
        },
        families=(4, 6),
        outer=(4, 6),
        exclusive=("port",),
        ports=("udp {port}", "tcp {port}"),
        relays=True,
        # To all nodes that it knows, whatever group it is sent to (tinc.conf(5), Broadcast).
        multicast=True,
        # That through the connections by TCP, and so through the first endpoint, is none without a relay.
        paths=PATHS,
        finds=path.Finder(False, "here all others connect to the first endpoint, and the proof asks for UDP"),
        rekeys="tinc:key-expire=60",
        largest_mtu=packets.LARGEST_MTU,
        packages=("tinc",),
        version=("tincd", "--version"),
        needs=Needs(modules=(kernel_modules.TUN,), programs=("tincd",)),
        sources=Sources(packages={"tincd": "tinc"}),
        startup_seconds=6,
        user_space=True,
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """What it carries, adds and promises. Raises ValueError where the options do not go together."""
        interval, patience = int(options["ping-interval"]), int(options["ping-timeout"])
        if patience > interval:
            raise ValueError(f"tinc: ping-timeout={patience} is more than ping-interval={interval}: lessen it")
        relayed, asked = paths.has_relay(options), path.demanded(options)
        # The connections by TCP are always encrypted, and have no HMAC.
        only_tcp, also_tcp = asked == RELAY_TCP, relayed and asked in ("", RELAY_TCP)
        authentic = bool(packets.mac_length(options)) and not also_tcp
        form = cls.format(options, outer=4)
        paths.check_relay(cls.about.name, options)
        return cls.about._replace(
            paths=PATHS if relayed else {path.DIRECT: PATHS[path.DIRECT]},
            finds=path.Finder(True, TOLD, RELAY, without_udp=RELAY_TCP) if relayed else cls.about.finds,
            roles=(RELAY,) if relayed else (),
            control=("tcp:{port}",) if relayed else (),
            layer=2 if options["mode"] == "switch" else 3,
            claims=Claims(
                confidentiality=options["cipher"] != "none" or only_tcp,
                integrity=authentic,
                replay_protection=authentic and options["replay-window"] != 0,
            ),
            headers=(*form.outside[1:], *form.inside),
            hmac=packets.hmac(options) if not only_tcp else "",
            rekeys_within=rekey_seconds(options),
        )

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        """That of packets by UDP, unless all go by TCP."""
        return packets.by_tcp(outer) if path.demanded(options) == RELAY_TCP else packets.by_udp(options, outer)

    def prepare(self, nodes: Nodes) -> None:
        """Makes a folder of configuration and a key for each node, and gives all of them each other's public keys."""
        met = RELAY if self._relayed else self.context.first
        forced = FORCED.get(path.demanded(self.options), "")
        for node in nodes.values():
            values = self._values(node)
            config = CONFIG + (CONNECT if node.name != met else "") + (WITHOUT_INTERFACE if node.name == RELAY else "")
            behind = [self.context.beyond[node.name]] if node.name in self.context.beyond else []
            own = self.context.above.get(node.name) if self.options["mode"] == "router" else None
            subnets = [SUBNET.format(inside=inside) for inside in ([own.address, *behind] if own else [])]
            node.write(self._folder(node.name) / "tinc.conf", config.format(met=met, **values))
            node.write(
                self._folder(node.name) / "hosts" / node.name,
                HOST.format(**values) + "".join(subnets) + (forced if node.name != RELAY else ""),
            )
            # RSA with 2048 bits, the daemon's own default; the public key goes to the end of the host's file.
            node.run("tincd", "-c", str(self._folder(node.name)), "--generate-keys", timeout=KEYS_TIMEOUT)
        for name, reached in self._hops(nodes).items():
            for hop in reached:
                known = self._folder(hop.peer) / "hosts" / hop.peer
                nodes[name].run("cp", str(known), str(self._folder(name) / "hosts"))

    @property
    def _relayed(self) -> bool:
        return bool(self.declared.roles)

    def _hops(self, nodes: Nodes) -> dict[str, list[settling.Hop]]:
        """By the names of nodes, to which they send packets themselves."""
        ends = mesh.endpoints(self, nodes)
        if not self._relayed:
            return {node.name: [self._hop(node, peer) for peer in self.context.peers(node)] for node in ends}
        known = {node.name: [self._hop(node, RELAY)] for node in ends}
        return {**known, RELAY: [self._hop(nodes[RELAY], node.name) for node in ends]}

    def _values(self, node: Node) -> Mapping[str, object]:
        """The values in the configuration of a node."""
        above = self.context.above.get(node.name) or self.context.above[self.context.first]
        below = self._below(node)
        return {
            **self.options,
            "name": node.name,
            "interface": above.interface,
            "window": self.options["replay-window"],
            "mac": packets.mac_length(self.options),
            "frame": self._frame(node),
            "address": below.address,
        }

    def _below(self, node: Node) -> Overlay:
        """What a node runs over: an endpoint, or the relay."""
        return self.context.roles[RELAY] if node.name == RELAY else self.context.below[node.name]

    def _folder(self, node: str) -> Path:
        return self.file(node, "net")

    def up(self, node: Node, nodes: Nodes) -> None:
        """Starts the daemon, which makes the interface."""
        pidfile = self.file(node.name, "pid")
        self.start(
            *(node, "tincd", "-c", str(self._folder(node.name)), f"--pidfile={pidfile}"),
            # Level 2 tells of new keys.
            *("--no-detach", f"--debug={2 if self.declared.rekeys_within else 1}"),
        )
        if node.name == RELAY:
            return
        path = f"/sys/class/net/{self.context.above[node.name].interface}"
        self.wait(node, "test", "-e", path, what=f"{node.name} made no interface")
        self.settle(node)

    def rekey(self, node: Node) -> None:
        """Waits for the daemon's timer, without a command meanwhile."""
        seconds = self.declared.rekeys_within
        node.run("sleep", f"{seconds:g}", timeout=2 * seconds)

    def keys(self, node: Node) -> str:
        """How often the daemon has given its old ones up."""
        return node.ask("grep", "-c", EXPIRED, str(node.log(self.log))).stdout

    def _frame(self, node: Node) -> int:
        """The bytes of the largest frame that goes by UDP."""
        fits = self.mtu({**self.options, "mtu": 0}, self._below(node))
        return min(next(iter(self.context.above.values())).mtu, fits) + ETHERNET.size

    def joined(self, nodes: Nodes) -> None:
        """Waits until full packets go by UDP in both directions, where that is demanded or there is no other way."""
        if path.demanded(self.options) == RELAY or not self._relayed:
            hops = self._hops(nodes)
            for visit in (settling.begin, settling.wait):
                for name, reached in hops.items():
                    visit(self, nodes[name], self._frame(nodes[name]), reached)

    def searched(self, nodes: Nodes) -> None:
        """Waits until the daemons know whether packets go directly by UDP, or else by UDP to the relay."""
        if not self._relayed or path.demanded(self.options):
            return
        direct = [self._search(node, self._hop(node, peer)) for node, peer in mesh.peerings(self, nodes)]
        if not all(direct):
            for name, reached in self._hops(nodes).items():
                for hop in reached:
                    self._search(nodes[name], hop)

    def _search(self, node: Node, hop: settling.Hop) -> bool:
        return settling.search(self, node, self._frame(node), hop)

    def _hop(self, node: Node, peer: str) -> settling.Hop:
        """The way to a peer; a relay has got packets from those that send there."""
        if node.name == RELAY:
            return settling.Hop(peer, "")
        [end, *_] = self.context.peers(node) if peer == RELAY else [peer]
        return settling.Hop(peer, self.context.above[end].address)


def rekey_seconds(options: Options) -> float:
    """Seconds within which a node has a new key; 0 where one would wait too long for it."""
    asked = int(options["key-expire"])
    return asked + 5 if asked <= LONGEST_REKEY else 0
