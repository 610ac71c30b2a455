"""OpenConnect VPN: IP packets in DTLS or TLS, with ocserv and openconnect in user space."""

from collections.abc import Mapping

from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.packet_format import IP, TCP, UDP, Header
from tunbench.runner.declare.tunnel import About, Claims, Needs
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import certificates, kernel_modules

DRAFT = "draft-mavrogiannopoulos-openconnect-04, section 2.3"
TAG = Header("AEAD tag", 16, "RFC 5116, sections 5.1 and 5.2; RFC 8439, section 2.8")

TLS = (
    TCP,
    Header("TLS 1.3 record", 5, "RFC 8446, section 5.2"),
    Header("CSTP", 8, DRAFT),
    Header("content type", 1, "RFC 8446, section 5.2"),
    TAG,
)
DTLS = (UDP, Header("DTLS 1.2 record", 13, "RFC 6347, section 4.1"), Header("packet type", 1, DRAFT), TAG)
NONCE = (Header("explicit nonce", 8, "RFC 5288, section 3"),)

CIPHERS = {
    "aes256gcm": ("AES-256-GCM", NONCE),
    "aes128gcm": ("AES-128-GCM", NONCE),
    "chacha20poly1305": ("CHACHA20-POLY1305", ()),
}
"""Ciphers as GnuTLS names them, and what they add to a record of DTLS 1.2 besides the tag."""

# Each line that is not the daemon's own default has its reason.
SERVER = """\
# The certificate of a client is enough, and its common name is the user.
auth = "certificate"
cert-user-oid = 2.5.4.3
ca-cert = {ca}
server-cert = {certificate}
server-key = {key}
listen-host = {host}
tcp-port = {port}
{udp}
# One cipher for TLS and DTLS, so that the size of a packet is known.
tls-priorities = "NORMAL:%SERVER_PRECEDENCE:-CIPHER-ALL:+{cipher}"
# As in the project's own example: workers without privileges, behind seccomp.
run-as-user = nobody
run-as-group = nogroup
isolate-workers = true
socket-file = /run/ocserv-{port}.socket
# The daemon appends a number.
device = {device}
ipv{family}-network = {network}
# The client's address is in a file with its name.
config-per-user = {users}
# The daemon takes the headers off that: the MTU of the interface becomes {mtu}.
mtu = {link}
"""

SCRIPT = """\
# Instead of vpnc-script: an address and the MTU, but no routes and no name servers.
if [ "$reason" = connect ]; then
    ip link set "$TUNDEV" mtu {mtu} up
    ip address add {cidr} dev "$TUNDEV"{at_once}
fi
"""


class Openconnect(Tunnel):
    """The first endpoint is the server, the second its client."""

    about = About(
        name="openconnect",
        summary="OpenConnect VPN with TLS certificates, data over DTLS or TLS, in user space",
        layer=3,
        claims=Claims(confidentiality=True, integrity=True, replay_protection=True),
        # A record of application data, in the first byte after the UDP header: RFC 6347, section 4.1.
        evidence="udp port {port} and udp[8] = 23",
        headers=DTLS + NONCE,
        options={
            "transport": Option("choice", "dtls", "what carries data", choices=("dtls", "tls")),
            "cipher": Option("choice", "aes256gcm", "cipher of TLS and DTLS", choices=tuple(CIPHERS)),
            "port": Option("count", "443", "TCP and UDP port of the server", low=1, high=65535),
        },
        families=(4, 6),
        # Over IPv6 the client's own search for the MTU of DTLS ends 12 bytes below what fits, and it cuts packets off.
        outer=(4,),
        exclusive=("port",),
        ports=("tcp {port}", "udp {port}"),
        joins=2,
        multicast=True,
        packages=("ocserv", "openconnect"),
        version=("ocserv", "--version"),
        needs=Needs(modules=(kernel_modules.TUN,), programs=("ocserv", "openconnect", "openssl")),
        startup_seconds=4,
        user_space=True,
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """Headers follow transport and cipher."""
        if options["transport"] == "tls":
            # The same in TLS (RFC 8446, section 5.1), after 32 bytes of TCP header.
            return cls.about._replace(ports=("tcp {port}",), headers=TLS, evidence="tcp port {port} and tcp[32] = 23")
        return cls.about._replace(headers=DTLS + CIPHERS[str(options["cipher"])][1])

    @classmethod
    def yields(cls, options: Options, index: int, below: Mapping[str, Overlay]) -> dict[str, Overlay]:
        """The server appends the client's number, 0, to the name of an interface; the client has the same name."""
        above = super().yields(options, index, below)
        return {node: overlay._replace(interface=f"{overlay.interface}0") for node, overlay in above.items()}

    def prepare(self, nodes: Nodes) -> None:
        """Makes an authority, a certificate for each node, and the configuration files."""
        server, client = nodes.values()
        authority = certificates.authority(server, self.file(server.name, "ca"))
        pair = certificates.issue(server, authority, self.file(server.name, "tls"), "serverAuth")
        certificates.issue(client, authority, self.file(client.name, "tls"), "clientAuth")
        here, there = self.context.above[server.name], self.context.above[client.name]
        text = SERVER.format(
            ca=authority.certificate,
            certificate=pair.certificate,
            key=pair.key,
            host=self.context.below[server.name].local,
            port=self.options["port"],
            udp=f"udp-port = {self.options['port']}" if self.dtls else "# Without a UDP port there is no DTLS.",
            cipher=CIPHERS[str(self.options["cipher"])][0],
            device=here.interface.removesuffix("0"),
            family=here.family,
            network=here.cidr,
            users=self.file(server.name, "users"),
            mtu=here.mtu,
            link=self.link(here.mtu),
        )
        server.write(self.file(server.name, "conf"), text)
        server.write(self.file(server.name, "users") / client.name, f"explicit-ipv{there.family} = {there.address}\n")
        at_once = " nodad" if there.family == 6 else ""
        client.write(self.file(client.name, "script"), SCRIPT.format(mtu=there.mtu, cidr=there.cidr, at_once=at_once))

    @property
    def dtls(self) -> bool:
        """Whether DTLS carries the data."""
        return self.options["transport"] == "dtls"

    def link(self, mtu: int) -> int:
        """The MTU below from which the server gets that of the interface: it always takes IP and UDP off."""
        size = self.format(self.options, self.context.outer).size(mtu, mtu)
        return size if self.dtls else mtu + IP[self.context.outer].size + UDP.size

    def up(self, node: Node, nodes: Nodes) -> None:
        """Starts the daemon, which makes the interface; the client gives up where no server listens yet."""
        server, port = self.context.first, self.options["port"]
        if node.name == server:
            config, pid = self.file(server, "conf"), self.file(server, "pid")
            self.start(node, "ocserv", "-f", "-d", "2", "-c", str(config), "-p", str(pid))
            listens = ("sh", "-c", 'ss -Hltn "sport = :$0" | grep -q .', str(port))
            self.wait(node, *listens, what=f"{node.name} did not listen")
            return
        self.start(
            *(node, "openconnect", "--non-inter", "--no-system-trust", "--cafile", str(self.file(server, "ca.crt"))),
            *("--certificate", str(self.file(node.name, "tls.crt")), "--sslkey", str(self.file(node.name, "tls.key"))),
            *(
                "--interface",
                self.context.above[node.name].interface,
                "--script",
                f"sh {self.file(node.name, 'script')}",
            ),
            *(() if self.dtls else ("--no-dtls",)),
            # The certificate is that of the node's name.
            *("--resolve", f"{server}:{self.context.below[server].address}", f"https://{server}:{port}"),
        )

    def down(self, node: Node) -> None:
        """Ends the daemon. The server leads a process group of its own, so it is ended by its number."""
        if self.daemons.get(node.name) and node.name == self.context.first:
            pid = str(self.file(node.name, "pid"))
            node.try_run("sh", "-c", 'kill "$(cat "$0")"', pid)
            node.until("sh", "-c", '! test -e "$0"', pid)
        super().down(node)
