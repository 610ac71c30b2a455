"""OpenVPN in user space: TLS with certificates made for the shard, data over UDP."""

from collections.abc import Sequence

from tunbench.runner import certificates
from tunbench.runner.contract import About, Claims, Tunnel
from tunbench.runner.formats import UDP, Header
from tunbench.runner.node import Node
from tunbench.runner.options import Option

# Each line that is not the daemon's own default has its reason.
COMMON = """\
dev {interface}
dev-type tun
proto udp4
port {port}
topology subnet
# The largest packet that still fits into the MTU below: no fragments.
tun-mtu {mtu}
# TCP learns that size from the interface; the daemon need not rewrite its MSS.
mssfix 0
data-ciphers {cipher}
ca {ca}
cert {certificate}
key {key}
# The lab's nodes have no time to lose: a lost first packet is repeated after a second.
connect-retry 1 1
verb 3
"""

SERVER = """\
server {network} 255.255.255.0
# Elliptic curves instead of Diffie-Hellman parameters, as the project recommends.
dh none
# A peer that vanishes is noticed; the values of the project's own example.
keepalive 10 60
"""

CLIENT = """\
client
remote {server}
# The peer must show a certificate made for a server.
remote-cert-tls server
"""


DATA = "OpenVPN wire protocol, section 8, data channel packets"


class Openvpn(Tunnel):
    """The first endpoint is the server, all others are its clients."""

    about = About(
        name="openvpn",
        summary="OpenVPN over UDP with TLS certificates, in user space",
        layer=3,
        claims=Claims(confidentiality=True, integrity=True, replay_protection=True),
        # Opcode P_DATA_V2 (9) in the upper five bits of the first byte.
        evidence="udp port {port} and udp[8] & 0xf8 = 0x48",
        headers=(
            UDP,
            Header("opcode and peer ID", 4, DATA),
            Header("packet ID", 4, DATA),
            Header("AEAD tag", 16, DATA),
        ),
        options={
            "cipher": Option(
                "choice",
                "AES-256-GCM",
                "cipher of the data channel",
                choices=("AES-256-GCM", "AES-128-GCM", "CHACHA20-POLY1305"),
            ),
            "port": Option("count", "1194", "UDP port of both ends", low=1, high=65535),
        },
        exclusive=("port",),
        modules=("tun",),
        programs=("openvpn", "openssl"),
        packages=("openvpn",),
        version=("openvpn", "--version"),
    )

    def prepare(self, nodes: Sequence[Node]) -> None:
        """Makes an authority, a certificate for each node, and the configuration files."""
        server = nodes[0]
        authority = certificates.authority(server, self.file(server.name, "ca"))
        for node in nodes:
            purpose = "serverAuth" if node is server else "clientAuth"
            pair = certificates.issue(node, authority, self.file(node.name, "tls"), purpose)
            role = SERVER if node is server else CLIENT
            above = self.place.above[node.name]
            text = (COMMON + role).format(
                interface=above.interface,
                network=self.place.above[server.name].address.rpartition(".")[0] + ".0",
                server=self.place.below[server.name].address,
                ca=authority.certificate,
                certificate=pair.certificate,
                key=pair.key,
                **{**self.options, "mtu": above.mtu},
            )
            node.write(self.file(node.name, "conf"), text)

    def up(self, node: Node) -> None:
        """Starts the daemon, which makes the interface and gives it its address."""
        config = self.file(node.name, "conf")
        self.start(node, "openvpn", "--config", str(config))
