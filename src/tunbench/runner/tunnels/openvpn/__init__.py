"""OpenVPN in user space: TLS with certificates made for the shard, a static key, or none; over UDP or TCP."""

from collections.abc import Sequence
from ipaddress import ip_network

from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.packet_format import IP, Format
from tunbench.runner.declare.tunnel import About, Needs
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.openvpn.packets import cipher_of, digest_of, evidence, hmac_of, inside, outside
from tunbench.runner.tunnels.openvpn.tables import AUTHS, CIPHERS, COMMON, DIGESTS, POOL6, REFUSALS, TRANSPORTS, Auth
from tunbench.runner.tunnels.shared import certificates, kernel_modules

LONGEST_REKEY, HANDSHAKE_SECONDS = 600, 10
"""Seconds of `rekey` for whose end one waits, and what the new keys may take behind it."""

NEW_KEYS = "Control Channel: TLS"
"""What the daemon says behind each handshake, whose keys are those of data: OpenVPN 2.6, src/openvpn/ssl.c,
print_details()."""

USUAL_WINDOW = 64
"""Packets of the daemon's replay window where its configuration says nothing: openvpn(8)."""


class Openvpn(Tunnel):
    """With TLS the first endpoint is the server, all others are its clients; otherwise two are joined."""

    about = About(
        name="openvpn",
        summary="OpenVPN in user space: TLS, a static key or none, over UDP or TCP",
        layer=3,
        claims=AUTHS["tls"].claims._replace(confidentiality=True),
        evidence="udp port {port} and udp[8] & 0xf8 = 0x48",
        options={
            "proto": Option("choice", "udp", "transport", choices=tuple(TRANSPORTS)),
            "auth": Option("choice", "tls", "how the endpoints know each other", choices=tuple(AUTHS)),
            "cipher": Option(
                "choice",
                "default",
                "cipher of the data channel; default: AES-256-GCM with tls, AES-256-CBC with static-key, else none",
                choices=("default", *CIPHERS),
            ),
            "digest": Option(
                "choice",
                "default",
                "digest of the HMAC, where the cipher is no AEAD; default: SHA1, as the daemon has it",
                choices=("default", *DIGESTS),
            ),
            "device": Option("choice", "tun", "IP packets (tun) or Ethernet frames (tap)", choices=("tun", "tap")),
            "port": Option("count", "1194", "port of both ends", low=1, high=65535),
            "sndbuf": Option(
                "size",
                "0",
                "send buffer of the socket in bytes, up to net.core.wmem_max; 0: the system's",
                high=1 << 30,
            ),
            "rcvbuf": Option(
                "size",
                "0",
                "receive buffer of the socket in bytes, up to net.core.rmem_max; 0: the system's",
                high=1 << 30,
            ),
            "replay-window": Option("count", str(USUAL_WINDOW), "packets of the replay window", low=1, high=65536),
            "ping": Option(
                "count", "10", "with tls: seconds of silence behind which a ping is sent", low=1, high=65535
            ),
            "ping-restart": Option(
                "count",
                "60",
                "with tls: seconds without a packet behind which a client begins anew; the server waits twice as long",
                low=2,
                high=65535,
            ),
            "rekey": Option(
                "count", "3600", "with tls: seconds behind which the keys of data are new, 0: never", high=1 << 30
            ),
            "tcp-nodelay": Option("switch", "off", "with proto=tcp: no packet waits for an acknowledgement"),
            "mssfix": Option("size", "0", "bytes of UDP payload to which the MSS is clamped; 0: not", high=65535),
        },
        families=(4, 6),
        outer=(4, 6),
        exclusive=("port",),
        ports=("udp {port}",),
        joins=2,
        multicast=True,
        rekeys="openvpn:rekey=60",
        refusals={name: refusal.why for name, refusal in REFUSALS.items()},
        packages=("openvpn",),
        version=("openvpn", "--version"),
        needs=Needs(modules=(kernel_modules.TUN,), programs=("openvpn", "openssl")),
        startup_seconds=2,
        user_space=True,
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """What it carries, adds and promises. Raises ValueError where the options do not go together."""
        if reason := _lacking(options):
            raise ValueError(f"openvpn: {reason}")
        return cls.about._replace(
            layer=2 if options["device"] == "tap" else 3,
            claims=AUTHS[str(options["auth"])].claims._replace(confidentiality=CIPHERS[cipher_of(options)].hides),
            clamps=options["mssfix"] != 0,
            rekeys_within=rekey_seconds(options),
            evidence=evidence(options),
            ports=(f"{options['proto']} {{port}}",),
            headers=(*outside(options), *inside(options)),
            hmac=hmac_of(options).lower(),
        )

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        """What a CBC cipher encrypts is padded to its block."""
        block = CIPHERS[cipher_of(options)].block
        return Format((IP[outer], *outside(options)), inside(options), block=block)

    def refused(self, node: Node) -> dict[str, int]:
        """What the daemon has said of packets that it dropped, a line of its log each."""
        log = str(node.log(self.log))
        counts = {name: node.ask("grep", "-c", one.said, log).stdout.strip() for name, one in REFUSALS.items()}
        return {name: int(count) for name, count in counts.items() if count.isdecimal()}

    def rekey(self, node: Node) -> None:
        """Waits for the daemon's timer, without a command meanwhile: it knows none that renews keys alone."""
        seconds = rekey_seconds(self.options)
        node.run("sleep", f"{seconds:g}", timeout=2 * seconds)

    def keys(self, node: Node) -> str:
        """How often the daemon has had new ones."""
        return node.ask("grep", "-c", NEW_KEYS, str(node.log(self.log))).stdout

    def prepare(self, nodes: Nodes) -> None:
        """Makes keys or certificates, and the configuration files."""
        auth = str(self.options["auth"])
        files = (
            [self._static_key(nodes[self.context.first], auth)] * len(nodes)
            if auth != "tls"
            else self._certificates(list(nodes.values()))
        )
        for number, (node, keys) in enumerate(zip(nodes.values(), files, strict=True)):
            text = self._text(AUTHS[auth], number == 0)
            node.write(self.file(node.name, "conf"), text.format(**self._values(node, number), **keys))
        if auth == "tls" and self.options["device"] == "tun" and self.context.beyond:
            self._tell_server(*nodes.values())

    def _tell_server(self, server: Node, client: Node) -> None:
        """Lets the server take what comes from the network behind its client, and send there."""
        network = ip_network(self.context.beyond[client.name])
        line = (
            f"iroute {network.network_address} {network.netmask}" if network.version == 4 else f"iroute-ipv6 {network}"
        )
        folder = self.file(server.name, "clients")
        server.write(folder / "DEFAULT", f"{line}\n")
        config = self.file(server.name, "conf")
        server.write(config, f"{server.read(config)}client-config-dir {folder}\n")

    def _static_key(self, first: Node, auth: str) -> dict[str, str]:
        """Makes the static key that both ends share, where they authenticate by one."""
        secret = self.file(first.name, "static.key")
        if auth == "static-key":
            first.run("openvpn", "--genkey", "secret", str(secret))
        return {"secret": str(secret)}

    def _certificates(self, nodes: Sequence[Node]) -> list[dict[str, str]]:
        """Makes an authority, and a certificate for each node."""
        authority = certificates.authority(nodes[0], self.file(nodes[0].name, "ca"))
        purposes = ["serverAuth"] + ["clientAuth"] * (len(nodes) - 1)
        pairs = [
            certificates.issue(node, authority, self.file(node.name, "tls"), purpose)
            for node, purpose in zip(nodes, purposes, strict=True)
        ]
        return [
            {"ca": str(authority.certificate), "certificate": str(pair.certificate), "key": str(pair.key)}
            for pair in pairs
        ]

    def _text(self, auth: Auth, first: bool) -> str:
        """The lines of a configuration file, with the names of values in braces."""
        usual = {"sndbuf": 0, "rcvbuf": 0, "replay-window": USUAL_WINDOW}
        lines = [name for name, value in usual.items() if self.options[name] != value]
        chosen = "".join(f"{name} {{{name}}}\n" for name in lines)
        chosen += "socket-flags TCP_NODELAY\n" if self.options["tcp-nodelay"] else ""
        digest = "auth {digest}\n" if self.options["digest"] != "default" else ""
        return COMMON + chosen + auth.both + digest + (auth.first if first else auth.others)

    def _values(self, node: Node, number: int) -> dict[str, object]:
        """The values in a configuration file, keys aside."""
        transport = TRANSPORTS[str(self.options["proto"])]
        above, server = self.context.above[node.name], self.context.first
        [peer, *_] = self.context.peers(node)
        proto = transport.others if number else transport.first
        return {
            **self.options,
            "cipher": cipher_of(self.options),
            "digest": digest_of(self.options),
            "interface": above.interface,
            "tun_mtu": above.mtu,
            "proto": proto.format(outer=self.context.outer),
            "direction": number,
            "server": self.context.below[server].address,
            "peer": self.context.below[peer].address,
            "pool": self._pool(server),
            "ifconfig": self._ifconfig(node, peer),
        }

    def _pool(self, server: str) -> str:
        """The lines that make a server, with its address and those for its clients."""
        address = self.context.above[server].address
        network = address[: -len("1")]
        return POOL6.format(network=network) if ":" in address else f"server {network}0 255.255.255.0"

    def _ifconfig(self, node: Node, peer: str) -> str:
        """The line that gives one of two ends its address."""
        here, there = self.context.above[node.name], self.context.above[peer]
        if here.family == 6:
            return f"ifconfig-ipv6 {here.cidr} {there.address}"
        return f"ifconfig {here.address} 255.255.255.0"

    def up(self, node: Node, nodes: Nodes) -> None:
        """Starts the daemon, which makes the interface and gives it its address."""
        config = self.file(node.name, "conf")
        self.start(node, "openvpn", "--config", str(config))


def rekey_seconds(options: Options) -> float:
    """Seconds within which keys are new; 0 where they are never, or one would wait too long for them."""
    asked = int(options["rekey"])
    return asked + HANDSHAKE_SECONDS if options["auth"] == "tls" and 0 < asked <= LONGEST_REKEY else 0


def _lacking(options: Options) -> str:
    """Why these options do not go together; empty where they do."""
    timers = {"ping": 10, "ping-restart": 60, "rekey": 3600}
    chosen = [name for name, usual in timers.items() if options[name] != usual]
    if chosen and options["auth"] != "tls":
        return f"auth={options['auth']} has no session that could be renewed: take {', '.join(chosen)} away"
    ping, restart = int(options["ping"]), int(options["ping-restart"])
    if restart < 2 * ping:
        return f"ping-restart={restart} is less than two pings: make it {2 * ping} or more"
    if options["tcp-nodelay"] and options["proto"] != "tcp":
        return "tcp-nodelay is for proto=tcp: datagrams wait for nothing"
    return ""
