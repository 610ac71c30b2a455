"""Nebula: an overlay whose hosts have certificates, in user space over UDP."""

from collections.abc import Sequence

from tunbench.runner.contract import About, Claims, Tunnel
from tunbench.runner.formats import UDP, Header
from tunbench.runner.node import Node
from tunbench.runner.options import Option

# Each line that is not the daemon's own default has its reason.
CONFIG = """\
pki:
  ca: {ca}.crt
  cert: {host}.crt
  key: {host}.key
# Every host knows where every other one is: no lighthouse is asked, and all paths are direct.
static_host_map:
{peers}
listen:
  host: "{any}"
  port: {port}
cipher: {cipher}
tun:
  dev: {interface}
  # The largest packet that still fits into the MTU below: no fragments.
  mtu: {size}
# Everything passes; without a rule nothing would.
firewall:
  outbound:
    - {{port: any, proto: any, host: any}}
  inbound:
    - {{port: any, proto: any, host: any}}
"""

PEER = '  "{inside}": ["{outside}:{port}"]'

ANY = {4: "0.0.0.0", 6: "::"}
"""Every address of a host, by address family; the daemon's own default is that of IPv4."""

LARGEST_MTU = 9001 - 32
"""Bytes: the daemon's buffers (Nebula 1.6.1, udp/udp_all.go, MTU) less its header and tag."""

HEADER = "Nebula 1.6.1, header/header.go"


class Nebula(Tunnel):
    """A mesh without lighthouses: each host has a certificate of the shard's authority, and a static map of hosts."""

    about = About(
        name="nebula",
        summary="Nebula in user space (Noise IX, certificates, UDP)",
        layer=3,
        claims=Claims(confidentiality=True, integrity=True, replay_protection=True),
        # Version 1 in the upper half of the first byte, type 1 (message) in the lower.
        evidence="udp port {port} and udp[8] = 0x11",
        headers=(
            UDP,
            Header("version, type, index, counter", 16, HEADER),
            Header("AEAD tag", 16, "RFC 5116, sections 5.1 and 5.2, and RFC 8439, section 2.8"),
        ),
        options={
            "cipher": Option("choice", "aes", "cipher, the same on every host", choices=("aes", "chachapoly")),
            "port": Option("count", "4242", "UDP port of every host", low=1, high=65535),
        },
        outer=(4, 6),
        exclusive=("port",),
        ports=("udp {port}",),
        # That would be written into the certificate of each host.
        routes=False,
        largest_mtu=LARGEST_MTU,
        modules=("tun",),
        programs=("nebula", "nebula-cert"),
        packages=("nebula",),
        version=("nebula", "-version"),
    )

    def prepare(self, nodes: Sequence[Node]) -> None:
        """Makes an authority, a certificate for each node, and the configuration files."""
        ca = self.file(nodes[0].name, "ca")
        nodes[0].run("nebula-cert", "ca", "-name", "Tunbench", "-out-crt", f"{ca}.crt", "-out-key", f"{ca}.key")
        for node in nodes:
            host, above = self.file(node.name, "host"), self.place.above[node.name]
            node.run(
                *("nebula-cert", "sign", "-ca-crt", f"{ca}.crt", "-ca-key", f"{ca}.key"),
                *("-name", node.name, "-ip", above.cidr, "-out-crt", f"{host}.crt", "-out-key", f"{host}.key"),
            )
            peers = [
                PEER.format(
                    inside=self.place.above[name].address,
                    outside=self.place.below[name].host,
                    port=self.options["port"],
                )
                for name in self.place.peers(node)
            ]
            text = CONFIG.format(
                ca=ca,
                host=host,
                peers="\n".join(peers),
                any=ANY[self.place.outer],
                interface=above.interface,
                size=above.mtu,
                **self.options,
            )
            node.write(self.file(node.name, "config.yml"), text)

    def up(self, node: Node) -> None:
        """Starts the daemon, which makes the interface and gives it its address."""
        self.start(node, "nebula", "-config", str(self.file(node.name, "config.yml")))
