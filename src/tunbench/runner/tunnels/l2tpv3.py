"""Layer Two Tunneling Protocol version 3 (RFC 3931): Ethernet frames in a static tunnel, as the Linux kernel has it."""

from tunbench.runner.declare.kernel_module import Module
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.packet_format import ETHERNET, UDP, Header
from tunbench.runner.declare.tunnel import About, Claims, Needs
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import DAEMON_START_TIMEOUT, Nodes, Tunnel
from tunbench.runner.tunnels.shared import kernel_links, kernel_modules

HEADERS = {
    "udp": (UDP, Header("L2TPv3 flags, version and session ID", 8, "RFC 3931, section 4.1.2.1")),
    "ip": (Header("L2TPv3 session ID", 4, "RFC 3931, section 4.1.1.1"),),
}
"""What stands before the cookie, by encapsulation."""

EVIDENCE = {
    # Version 3 in a data message, and the session ID.
    "udp": "udp dst port {port} and udp[8:4] = 0x00030000 and udp[12:4] = {session:#010x}",
    "ip": "ip proto 115 and ip[20:4] = {session:#010x}",
}

MODULES = (Module("l2tp_eth"), Module("l2tp_netlink", "ip l2tp show tunnel"))

TUNNEL = "ip link set lo up && ip l2tp add tunnel tunnel_id 1 peer_tunnel_id 1 encap ip"
IP_MODULES = (
    Module("l2tp_ip", f"{TUNNEL} {kernel_modules.OVER_IPV4}", outer=(4,)),
    Module("l2tp_ip6", f"{TUNNEL} {kernel_modules.OVER_IPV6}", outer=(6,)),
)
"""What L2TPv3 without UDP needs besides."""

COOKIES = {"none": "", "4": "54756e62", "8": "54756e62656e6368"}
"""Cookies guard against stray packets. They are sent in the clear: any value will do for a measurement."""


class L2tpv3(Tunnel):
    """One session in one tunnel, both with the same ID at both ends; no control connection."""

    about = About(
        name="l2tpv3",
        summary="L2TPv3: Ethernet in UDP or IP (RFC 3931), a static tunnel",
        layer=2,
        claims=Claims(),
        multicast=True,
        evidence=EVIDENCE["udp"],
        headers=(*HEADERS["udp"], ETHERNET),
        options={
            "encap": Option("choice", "udp", "what carries it; ip is protocol 115", choices=tuple(HEADERS)),
            "cookie": Option("choice", "none", "bytes of the cookie", choices=tuple(COOKIES)),
            # Sequence numbers are all that Linux's sublayer is for, and they are not used; but it is what Linux does
            # by default, and what others expect of it.
            "l2spec": Option(
                "choice", "default", "Layer-2-Specific Sublayer; default: 4 bytes", choices=("default", "none")
            ),
            "session": Option("count", "1", "ID of session and tunnel at both ends", low=1, high=(1 << 32) - 1),
            "port": Option("count", "1701", "UDP port of both ends", low=1, high=65535),
            "checksum": kernel_links.CHECKSUM,
        },
        families=(4, 6),
        outer=(4, 6),
        exclusive=("session",),
        ports=("udp {port}",),
        joins=2,
        needs=Needs(modules=(*MODULES, *IP_MODULES)),
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """Encapsulation, cookie and sublayer decide how long the header is."""
        encap, cookie = str(options["encap"]), len(COOKIES[str(options["cookie"])]) // 2
        headers = (
            *HEADERS[encap],
            *([Header("L2TPv3 cookie", cookie, "RFC 3931, section 4.1")] if cookie else []),
            *([Header("Layer-2-Specific Sublayer", 4, "RFC 3931, section 4.6")] if options["l2spec"] != "none" else []),
            ETHERNET,
        )
        return cls.about._replace(
            headers=headers,
            evidence=EVIDENCE[encap],
            ports=cls.about.ports if encap == "udp" else (),
            needs=cls.about.needs if encap == "ip" else Needs(modules=MODULES),
        )

    def up(self, node: Node, nodes: Nodes) -> None:
        """Makes the tunnel, and the session with its interface."""
        [peer] = self.context.peers(node)
        number, cookie = str(self.options["session"]), COOKIES[str(self.options["cookie"])]
        node.run(
            *("ip", "l2tp", "add", "tunnel", "tunnel_id", number, "peer_tunnel_id", number),
            *("local", self.context.below[node.name].local, "remote", self.context.below[peer].address),
            *("encap", str(self.options["encap"]), *self.udp()),
        )
        node.run(
            *("ip", "l2tp", "add", "session", "name", self.context.above[node.name].interface, "tunnel_id", number),
            *("session_id", number, "peer_session_id", number, "l2spec_type", str(self.options["l2spec"])),
            *(("cookie", cookie, "peer_cookie", cookie) if cookie else ()),
        )
        self.settle(node)

    def down(self, node: Node) -> None:
        """Deletes the tunnel, and with it the session and its interface; the kernel does it in the background."""
        number = str(self.options["session"])
        node.try_run("ip", "l2tp", "del", "tunnel", "tunnel_id", number)
        node.until("sh", "-c", 'test -z "$(ip l2tp show tunnel tunnel_id "$0")"', number, timeout=DAEMON_START_TIMEOUT)

    def udp(self) -> tuple[str, ...]:
        """The words about UDP, if that carries it."""
        if self.options["encap"] != "udp":
            return ()
        port = str(self.options["port"])
        wanted = "on" if kernel_links.checksummed(self.options, self.context.outer) else "off"
        names = {4: ("udp_csum",), 6: ("udp6_csum_tx", "udp6_csum_rx")}[self.context.outer]
        return ("udp_sport", port, "udp_dport", port, *(word for name in names for word in (name, wanted)))
