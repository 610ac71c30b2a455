"""IPsec: ESP in the kernel (RFC 4303), whose keys strongSwan or Libreswan negotiate by IKE."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tunbench.runner.declare.kernel_module import Module
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.overlay import ADDRESS_BITS, Overlay
from tunbench.runner.declare.packet_format import IP, UDP, Format
from tunbench.runner.declare.tunnel import About, Addon, Claims, Needs, Sources
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import LayerContext, Nodes, Tunnel
from tunbench.runner.tunnels.ipsec import ciphers, copies, libreswan, modes, sas, strongswan
from tunbench.runner.tunnels.ipsec.ciphers import CIPHERS
from tunbench.runner.tunnels.ipsec.daemon import Credentials
from tunbench.runner.tunnels.ipsec.modes import MODES, Mode
from tunbench.runner.tunnels.shared import certificates, secrets

DAEMONS = {"strongswan": strongswan.DAEMON, "libreswan": libreswan.DAEMON}

LIBRESWAN = Addon("libreswan", libreswan.DAEMON.packages, excludes=strongswan.DAEMON.packages)
"""Debian has one server of IKE installed at most."""

TRANSFORM = "proto esp spi 1 mode transport aead 'rfc4106(gcm(aes))' 0x000102030405060708090a0b0c0d0e0f10111213 128"
ESP = (
    Module("esp4", f"ip xfrm state add src 127.0.0.1 dst 127.0.0.2 {TRANSFORM}", outer=(4,)),
    Module("esp6", f"ip xfrm state add src ::1 dst ::2 {TRANSFORM}", outer=(6,)),
)

NEGOTIATION_TIMEOUT = 40.0
"""Seconds in which the SAs must be there."""

REKEY_SECONDS = 5.0
"""Seconds in which a command gives new keys, at most."""

ENCAPSULATED = "udp port 4500 and udp[8:4] != 0"
"""The first four bytes are an SPI; those of IKE are zero there: RFC 3948, section 2.2."""


class Ipsec(Tunnel):
    """Endpoints with a connection for each peer, which the one that comes up later initiates."""

    about = About(
        name="ipsec",
        summary="IPsec ESP in the kernel, with IKE by strongSwan or Libreswan (RFC 4303, RFC 7296)",
        layer=3,
        claims=Claims(confidentiality=True, integrity=True, replay_protection=True),
        evidence="ip proto 50",
        # IKE, on its second port behind a marker of zeros: RFC 3948, section 2.2.
        exchanges="udp port 500 or (udp port 4500 and udp[8:4] = 0)",
        options={
            "daemon": Option("choice", "strongswan", "daemon that negotiates the keys", choices=tuple(DAEMONS)),
            "ike": Option("choice", "2", "version of IKE", choices=("2", "1")),
            "mode": Option("choice", "tunnel", "how traffic gets into the SAs", choices=tuple(MODES)),
            "cipher": Option("choice", "aes128gcm16", "cipher of ESP", choices=tuple(CIPHERS)),
            "auth": Option("choice", "psk", "shared key or certificates", choices=("psk", "cert")),
            "encap": Option("switch", "off", "ESP in UDP, as if there were a NAT (RFC 3948)"),
            "replay": Option("count", "32", "packets of the replay window, 0: none", low=0, high=4096),
            "dpd-delay": Option(
                "count", "0", "seconds of silence behind which the peer is asked for a sign, 0: never", high=86400
            ),
            "dpd-timeout": Option(
                "count", "150", "with ike=1: seconds without a sign that it may live", low=1, high=86400
            ),
            "dpd-action": Option(
                "choice", "clear", "what becomes of the SAs of a dead peer", choices=("clear", "trap", "restart")
            ),
            "rekey": Option(
                "count", "3600", "strongSwan: seconds behind which the keys of ESP are new, 0: never", high=86400
            ),
            "rekey-bytes": Option(
                "size", "0", "strongSwan: bytes behind which they are new, 0: any number", high=1 << 50
            ),
        },
        families=(4, 6),
        outer=(4, 6),
        fragmented=True,
        rekeys="ipsec",
        rekeys_within=REKEY_SECONDS,
        # Both would want the same ports and the same policies.
        exclusive=(),
        ports=("udp 500", "udp 4500"),
        packages=("linux-image-amd64", *DAEMONS["strongswan"].packages),
        version=DAEMONS["strongswan"].version,
        needs=Needs(
            modules=(*ESP, *MODES["xfrm"].modules, *MODES["vti"].modules), programs=DAEMONS["strongswan"].programs
        ),
        sources=Sources(
            packages={
                "certutil": "libnss3-tools",
                "ipsec": "libreswan",
                "nft": "nftables",
                "pk12util": "libnss3-tools",
                "swanctl": "strongswan-swanctl",
            },
            addons=(LIBRESWAN,),
        ),
        startup_seconds=4,
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """The daemon's programs, the format's headers and what the cipher and the window promise. Raises ValueError."""
        daemon, cipher = DAEMONS[str(options["daemon"])], CIPHERS[str(options["cipher"])]
        if reason := _lacking(options):
            raise ValueError(f"ipsec: {reason}")
        return cls.about._replace(
            claims=Claims(cipher.secret, integrity=True, replay_protection=options["replay"] != 0),
            evidence=ENCAPSULATED if options["encap"] else cls.about.evidence,
            # Its policies are for everything, and its interface has any number of addresses.
            multicast=MODES[str(options["mode"])].interface,
            # In transport mode its policies are for two addresses.
            routes=MODES[str(options["mode"])].esp == "tunnel",
            headers=(*((UDP,) if options["encap"] else ()), *cipher.headers, *ciphers.TRAILER),
            hmac=cipher.hmac,
            needs=Needs(
                modules=(*ESP, *MODES[str(options["mode"])].modules), programs=daemon.programs, addons=daemon.addons
            ),
            packages=("linux-image-amd64", *daemon.packages),
            version=daemon.version,
        )

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        """The payload and its trailer are padded; in transport mode the packet's own IP header stays outside."""
        cipher = CIPHERS[str(options["cipher"])]
        outside = (*((UDP,) if options["encap"] else ()), *cipher.headers)
        if MODES[str(options["mode"])].esp == "transport":
            return Format(outside, ciphers.TRAILER, cipher.block, kept=IP[outer].size)
        return Format((IP[outer], *outside), ciphers.TRAILER, cipher.block)

    @classmethod
    def yields(cls, options: Options, index: int, below: Mapping[str, Overlay]) -> dict[str, Overlay]:
        """Without an interface of its own: the one below, with inner addresses, or in transport mode as it is."""
        mode = MODES[str(options["mode"])]
        if mode.esp == "transport":
            return {node: one._replace(mtu=cls.mtu(options, one)) for node, one in below.items()}
        own = super().yields(options, index, below)
        if name := DAEMONS[str(options["daemon"])].interfaces.get(str(options["mode"])):
            return {node: one._replace(interface=name) for node, one in own.items()}
        if mode.interface:
            return own
        return {
            node: below[node]._replace(address=one.address, own="", prefix=ADDRESS_BITS[one.family], mtu=one.mtu)
            for node, one in own.items()
        }

    def __init__(self, options: Options, context: LayerContext) -> None:
        super().__init__(options, context)
        if len(context.above) > 2:
            # Then its policies are for the addresses of its peers, on an interface too.
            self.declared = self.declared._replace(multicast=False)

    @property
    def mode(self) -> Mode:
        """How traffic gets into the SAs."""
        return MODES[str(self.options["mode"])]

    def prepare(self, nodes: Nodes) -> None:
        """Makes a shared key, or an authority with a certificate for each node, and the daemons' configuration."""
        daemon, first = DAEMONS[str(self.options["daemon"])], nodes[self.context.first]
        if self.mode.esp == "transport":
            # The layer below may have learned its addresses only now.
            self.context.above.update(self.yields(self.options, self.context.position, self.context.below))
        if self.options["auth"] == "psk":
            key = self.file(first.name, "psk")
            secrets.make(first, key, 32)
            credentials = {node.name: Credentials(psk=key) for node in nodes.values()}
        else:
            # Libreswan has no ECDSA in IKEv1.
            kind = certificates.RSA2048 if self.options["ike"] == "1" else certificates.P256
            authority = certificates.authority(first, self.file(first.name, "ca"), kind)
            credentials = {
                node.name: Credentials(
                    pair=certificates.issue(node, authority, self.file(node.name, "ike"), "serverAuth", kind),
                    authority=authority,
                )
                for node in nodes.values()
            }
        for node in nodes.values():
            daemon.configure(self, node, credentials[node.name])

    def up(self, node: Node, nodes: Nodes) -> None:
        """Makes what the mode needs, and starts the daemon."""
        self.mode.up(self, node)
        DAEMONS[str(self.options["daemon"])].up(self, node)

    def joined(self, nodes: Nodes) -> None:
        """Lets each endpoint negotiate with those before it, connection by connection."""
        daemon = DAEMONS[str(self.options["daemon"])]
        for node in nodes.values():
            for one in modes.connections(self, node):
                if one.peer in self.context.before(node):
                    node.run(*daemon.initiation(self, node, one.name), timeout=NEGOTIATION_TIMEOUT)

    def rekey(self, node: Node) -> None:
        """Tells the daemon to negotiate new keys, and waits until each connection has SAs with them, both ways."""
        daemon, before = DAEMONS[str(self.options["daemon"])], self.file(node.name, "sas")
        node.write(before, self.keys(node))
        for one in modes.connections(self, node):
            node.run(*daemon.rekeying(self, node, one.name), timeout=NEGOTIATION_TIMEOUT)
        what = f"{node.name} got no new keys of each connection in both directions"
        self.wait(node, "sh", "-c", sas.RENEWED, str(before), timeout=REKEY_SECONDS, what=what)

    def keys(self, node: Node) -> str:
        """The SAs of ESP that have keys, by their numbers."""
        return node.ask("sh", "-c", sas.KEYED).stdout

    def down(self, node: Node) -> None:
        """Stops the daemon, takes away what it left in the kernel, and what the mode needed."""
        for daemon in reversed(self.daemons.pop(node.name, [])):
            daemon.stop()
        node.try_run("ip", "xfrm", "state", "flush")
        node.try_run("ip", "xfrm", "policy", "flush")
        self.mode.down(self, node)

    @contextmanager
    def watched(self, node: Node) -> Iterator[str]:
        """Its interface; where it has none, one to which the packets that IPsec takes and gives are copied."""
        if self.mode.interface:
            yield self.context.above[node.name].interface
            return
        with copies.copied(self, node, copies.CARRIED) as interface:
            yield interface

    @contextmanager
    def beneath(self, node: Node, interface: str) -> Iterator[str]:
        """What is below; in tunnel mode without an interface of its own the kernel shows packets there twice."""
        if self.mode.interface or self.mode.esp == "transport":
            yield interface
            return
        with copies.copied(self, node, copies.BENEATH) as copy:
            yield copy


def _lacking(options: Options) -> str:
    """Why these options do not go together; empty where they do."""
    transport = MODES[str(options["mode"])].esp == "transport"
    if transport and options["inner"] == "ipv6":
        return "in transport mode the addresses are those below: take inner=ipv6 away"
    if transport and options["mtu"]:
        return "in transport mode the MTU follows from the interface below: take mtu away"
    if options["ike"] == "2" and options["dpd-timeout"] != 150:
        return "IKEv2 takes a peer for dead when its retransmissions end (RFC 7296, section 2.4): take dpd-timeout away"
    if options["dpd-action"] != "clear" and not options["dpd-delay"]:
        return "nobody is taken for dead: take dpd-action away, or add dpd-delay"
    if options["daemon"] == "libreswan" and (options["rekey-bytes"] or options["rekey"] != 3600):
        return "when keys are new is told to strongSwan alone: take rekey and rekey-bytes away"
    if options["ike"] == "1" and options["cipher"] == "chacha20poly1305":
        return "ChaCha20-Poly1305 is defined for IKEv2 alone (RFC 7634, section 4)"
    return ""
