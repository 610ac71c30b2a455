"""Generic Routing Encapsulation (RFC 2784, with the key of RFC 2890) of IP packets."""

from tunbench.runner.declare.failures import Unsupported
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.overlay import FAMILIES
from tunbench.runner.declare.packet_format import GRE, Header
from tunbench.runner.declare.tunnel import About, Claims, Needs
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Nodes, Tunnel
from tunbench.runner.tunnels.shared import kernel_links, kernel_modules

OPTIONS = {
    "ttl": kernel_links.TTL,
    "checksum": Option("switch", "off", "checksum over header and payload (4 bytes more)"),
    "key": Option("count", "0", "key of both directions (4 bytes more); 0 for none", high=(1 << 32) - 1),
    "pmtudisc": Option("switch", "on", "do not fragment what is outside, over IPv4; off: as the packet inside says"),
    "ignore-df": Option("switch", "off", "fragment it whatever the packet inside says; with pmtudisc=off"),
}

CHECKSUM = Header("GRE checksum and reserved field", 4, "RFC 2784, sections 2.5 and 2.6")
KEY = Header("GRE key", 4, "RFC 2890, section 2.1")

CHECKSUM_PRESENT, KEY_PRESENT = 0x8000, 0x2000
"""Flags in the first two bytes: RFC 2784, section 2.2, and RFC 2890, section 2."""

ETHERTYPES = {4: 0x0800, 6: 0x86DD}
"""The protocol type of a packet inside, by address family: RFC 2784, section 3, and RFC 7676, section 3."""


class Gre(Tunnel):
    """IP packets in GRE, without sequence numbers."""

    about = About(
        name="gre",
        summary="GRE of IP packets (RFC 2784)",
        layer=3,
        claims=Claims(),
        multicast=True,
        evidence="ip proto 47",
        headers=(GRE,),
        options=OPTIONS,
        families=(4, 6),
        outer=(4, 6),
        joins=2,
        needs=Needs(modules=kernel_modules.GRE),
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        """Checksum and key are fields of their own. Raises ValueError where the options do not go together."""
        inner = FAMILIES[str(options["inner"])]
        return cls.about._replace(headers=headers(options), evidence=evidence(options, ETHERTYPES[inner]))

    def up(self, node: Node, nodes: Nodes) -> None:
        """Makes the interface towards the other endpoint."""
        kernel_links.encapsulated(self, node, {4: "gre", 6: "ip6gre"}[self.context.outer], *words(self))


def headers(options: Options) -> tuple[Header, ...]:
    """The header, with the fields that the options ask for. Raises ValueError where they do not go together."""
    if options["ignore-df"] and options["pmtudisc"]:
        raise ValueError("gre: ignore-df needs pmtudisc=off, or nothing outside is fragmented")
    return (GRE, *([CHECKSUM] if options["checksum"] else []), *([KEY] if options["key"] else []))


def evidence(options: Options, protocol: int) -> str:
    """A pcap filter for all of the header but the checksum: its flags, the protocol type inside, and the key."""
    flags = (CHECKSUM_PRESENT if options["checksum"] else 0) | (KEY_PRESENT if options["key"] else 0)
    text = f"ip proto 47 and ip[20:4] = {flags << 16 | protocol:#010x}"
    at = 28 if options["checksum"] else 24
    return f"{text} and ip[{at}:4] = {int(options['key']):#010x}" if options["key"] else text


def words(tunnel: Tunnel) -> tuple[str, ...]:
    """The options as `ip link` takes them. Raises Unsupported over IPv6, where no router fragments (RFC 8200)."""
    options = tunnel.options
    if tunnel.context.outer == 6 and not options["pmtudisc"]:
        raise Unsupported("GRE over IPv6 has no pmtudisc=off: no router fragments there")
    key = ("key", str(options["key"])) if options["key"] else ()
    switches = {"csum": options["checksum"], "nopmtudisc": not options["pmtudisc"], "ignore-df": options["ignore-df"]}
    return ("ttl", str(options["ttl"]), *(word for word, is_on in switches.items() if is_on), *key)
