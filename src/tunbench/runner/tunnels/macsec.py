"""MAC Security (IEEE 802.1AE) in the kernel, with keys that are given or agreed upon by MKA (IEEE 802.1X)."""

import re

from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.packet_format import Format, Header
from tunbench.runner.declare.tunnel import About, Claims, Needs, Sources
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import kernel_modules, secrets

SECTAG = Header("SecTAG", 8, "IEEE 802.1AE-2018, section 9.3")
SCI = Header("Secure Channel Identifier", 8, "IEEE 802.1AE-2018, section 9.9")
ICV = Header("integrity check value", 16, "IEEE 802.1AE-2018, section 14.5")

CIPHERS = {"aes128gcm": ("gcm-aes-128", 16), "aes256gcm": ("gcm-aes-256", 32)}
"""Cipher suites as iproute2 names them, and the bytes of their keys: IEEE 802.1AE-2018, section 14."""

# Each line that is not the daemon's own default has its reason.
MKA = """\
# EAPOL of IEEE 802.1X-2010, the first version that has MKA.
eapol_version=3
# There is no access point to look for.
ap_scan=0
network={{
    # The key is given: no EAP comes before.
    key_mgmt=NONE
    eapol_flags=0
    # MACsec must be used; the first endpoint, whose priority is the lowest number, is the key server.
    macsec_policy=1
    mka_priority={priority}
    macsec_integ_only={integrity_only}
    macsec_replay_protect={replay}
    macsec_replay_window={window}
    mka_cak={secret}
    mka_ckn={ckn}
}}
"""

CKN = "74756e62656e6368"
"""The name of the connectivity association key, which is no secret: the octets of "tunbench"."""


ASSOCIATION = f"sa 0 pn 1 on key 00 {secrets.PLACEHOLDER}"
"""The first secure association of a channel, as `ip macsec` takes it."""


COUNTED = re.compile(r"^\s*stats:((?: \w+)+)\n((?:[ \t]+(?:\d{1,20}|-))+)$", re.ASCII | re.MULTILINE)
"""Names, and the values below them: iproute2 6.1, ip/ipmacsec.c, print_stats()."""

REFUSALS = {
    "InPktsLate": "came later than MACsec's replay window holds",
    "InPktsNotValid": "failed MACsec's check of their integrity",
    "InPktsNotUsingSA": "were of an association that MACsec does not have",
    "InPktsBadTag": "had a tag that MACsec does not understand",
    "InPktsNoSCI": "were of a channel that MACsec does not have",
}
"""Why the kernel drops frames, by its counters: IEEE 802.1AE-2018, section 10.7.9; Linux 6.1, drivers/net/macsec.c.

Frames without a tag are none of the layer's: what else passes on the Ethernet below has none.
"""


class Macsec(Tunnel):
    """A secure channel from each endpoint to all others."""

    about = About(
        name="macsec",
        summary="MACsec in the kernel (IEEE 802.1AE), keys static or by MKA",
        layer=2,
        fits_carrier=True,
        claims=Claims(confidentiality=True, integrity=True, replay_protection=True),
        # E and C, bits 4 and 3 of the TCI, which is the byte after the EtherType: IEEE 802.1AE-2018, section 9.5.
        evidence="ether proto 0x88e5 and ether[14] & 0x0c = 0x0c",
        headers=(SECTAG, SCI, ICV),
        options={
            "keys": Option("choice", "static", "where keys come from", choices=("static", "mka")),
            "cipher": Option("choice", "aes128gcm", "cipher suite; MKA has aes128gcm only", choices=tuple(CIPHERS)),
            "encrypt": Option("switch", "on", "confidentiality; off: integrity only"),
            "replay": Option("switch", "on", "replay protection"),
            "window": Option("count", "0", "replay window in packets", low=0, high=(1 << 32) - 1),
            "send-sci": Option("switch", "on", "secure channel identifier in each frame"),
        },
        needs_underlay="ethernet",
        multicast=True,
        refusals=REFUSALS,
        families=(4, 6),
        exclusive=(),
        packages=("linux-image-amd64", "wpasupplicant"),
        needs=Needs(modules=(kernel_modules.on_ethernet("macsec"),), programs=("openssl",)),
        sources=Sources(packages={"wpa_supplicant": "wpasupplicant"}),
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """Claims, evidence and headers follow the options. Raises ValueError for MKA with AES-256."""
        about = cls.about
        if options["keys"] == "mka":
            if options["cipher"] != "aes128gcm":
                # ieee802_1x_kay_init() sets DEFAULT_CS_INDEX; the setting macsec_csindex came with version 2.11.
                raise ValueError("macsec: as key server of MKA, wpa_supplicant 2.10 can choose GCM-AES-128 only")
            about = about._replace(version=("wpa_supplicant", "-v")).needing(programs=("openssl", "wpa_supplicant"))
        if not options["encrypt"]:
            about = about._replace(evidence="ether proto 0x88e5 and ether[14] & 0x0c = 0")
        return about._replace(
            claims=Claims(bool(options["encrypt"]), integrity=True, replay_protection=bool(options["replay"])),
            headers=(SECTAG, SCI, ICV) if options["send-sci"] else (SECTAG, ICV),
        )

    @classmethod
    def format(cls, options: Options, outer: int) -> Format:
        """What is added to a frame; there is no outer IP header."""
        return Format(cls.with_options(options).headers)

    @classmethod
    def mtu(cls, options: Options, below: Overlay) -> int:
        """The kernel keeps room for the identifier, sent or not: macsec_change_mtu() in drivers/net/macsec.c."""
        return super().mtu({**options, "send-sci": True}, below)

    def refused(self, node: Node) -> dict[str, int]:
        """What the interface has dropped."""
        return parse(node.ask("ip", "-s", "macsec", "show", self.context.above[node.name].interface).stdout)

    def prepare(self, nodes: Nodes) -> None:
        """Makes a key for each node to send with, or the one from which MKA derives all others."""
        if self.options["keys"] == "static":
            for node in nodes.values():
                secrets.make(node, self.file(node.name, "key"), CIPHERS[str(self.options["cipher"])][1])
            return
        first = nodes[self.context.first]
        cak = self.file(first.name, "cak")
        secrets.make(first, cak, 16)
        for priority, node in enumerate(nodes.values(), start=16):
            text = MKA.format(
                priority=priority,
                integrity_only=int(not self.options["encrypt"]),
                replay=int(self.options["replay"]),
                window=self.options["window"],
                ckn=CKN,
                secret=secrets.PLACEHOLDER,
            )
            secrets.fill(node, self.file(node.name, "conf"), text, cak)

    def up(self, node: Node, nodes: Nodes) -> None:
        """Makes the interface, and gives it its keys or to the daemon that does."""
        interface, below = self.context.above[node.name].interface, self.context.below[node.name].interface
        on = {True: "on", False: "off"}
        static = self.options["keys"] == "static"
        node.run(
            *("ip", "link", "add", interface, "link", below, *(("address", self.mac(node.name)) if static else ())),
            *("type", "macsec", "port", "1", "cipher", CIPHERS[str(self.options["cipher"])][0]),
            *("encrypt", on[bool(self.options["encrypt"])], "send_sci", on[bool(self.options["send-sci"])]),
            *("replay", on[bool(self.options["replay"])]),
            *(("window", str(self.options["window"])) if self.options["replay"] else ()),
        )
        if static:
            self.key(node)
        else:
            config = str(self.file(node.name, "conf"))
            # It finds the interface by its identifier, the MAC address below and port 1, and hands it the keys.
            self.start(node, "wpa_supplicant", "-D", "macsec_linux", "-i", below, "-c", config)
        self.settle(node)

    def key(self, node: Node) -> None:
        """Gives the interface its own key to send with, and for each peer that of the peer."""
        interface = self.context.above[node.name].interface
        self._add(node, node.name, f"macsec add {interface} tx {ASSOCIATION}")
        for peer in self.context.peers(node):
            channel = f"macsec add {interface} rx port 1 address {self.mac(peer)}"
            self._add(node, peer, f"{channel}\n{channel} {ASSOCIATION}")

    def _add(self, node: Node, sender: str, lines: str) -> None:
        """Executes lines of `ip` with the key of the one that sends; on a command line everyone could read it."""
        batch = self.file(node.name, f"{sender}.batch")
        secrets.fill(node, batch, f"{lines}\n", self.file(sender, "key"))
        node.run("ip", "-batch", str(batch))

    def mac(self, name: str) -> str:
        """The MAC address of a node's interface, from which the identifier of its secure channel follows."""
        return f"02:6d:73:00:{self.context.position:02x}:{list(self.context.above).index(name) + 1:02x}"


def parse(text: str) -> dict[str, int]:
    """What `ip -s macsec show` tells of dropped frames, of the interface and of all its channels together.

    An association has some of the names of its channel once more, and is left out: it counts no late frames.
    """
    found: dict[str, int] = {}
    for names, values in COUNTED.findall(text):
        block = dict(zip(names.split(), values.split(), strict=False))
        if {"InPktsLate", "InPktsBadTag"} & set(block):
            for name in REFUSALS.keys() & block.keys():
                found[name] = found.get(name, 0) + (int(block[name]) if block[name] != "-" else 0)
    return found
