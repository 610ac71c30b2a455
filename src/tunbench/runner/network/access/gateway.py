"""Gateways as data: the nodes that an access puts before a leaf, and the addresses on both sides of each.

The address by which others reach a leaf is the same with gateways as without: it is that of the outermost one that
translates, and else the leaf's own. It begins with 12.0 where a gateway opens ports to who asks. The networks within
and without that one have numbers of their own.

       no NAT                  NAT                     two NATs
       leaf     10.0.1.2       leaf     10.2.1.2       leaf     10.2.1.2
       gateway  10.0.1.1       gateway  10.2.1.1       gateway  10.2.1.1
                10.2.1.2                10.0.1.2                10.3.1.2
       router   10.2.1.1       router   10.0.1.1       carrier  10.3.1.1
                                                                10.0.1.2
                                                       router   10.0.1.1

With a link that carries IPv6 alone, addresses of the network begin with 12.0, all of them: the well-known prefix stands
for none that is private (RFC 6052, section 3.1). What a leaf has of IPv4 its own translator gives it.

       leaf     192.0.0.4, fd02:0:0:1::464 and fd02:0:0:1::2
       gateway  fd02:0:0:1::1, fd03:0:0:1::2
       carrier  fd03:0:0:1::1, 10.3.1.2 (what it has for the leaf) and 12.0.1.2
       router   12.0.1.1
"""

from collections.abc import Sequence
from dataclasses import replace
from ipaddress import ip_interface
from typing import NamedTuple

from tunbench.runner.declare.access import NATS, NONE, PASSED, Access
from tunbench.runner.declare.link import Link
from tunbench.runner.declare.overlay import ADDRESS_BITS, Overlay
from tunbench.runner.declare.packet_format import IP

INSIDE, OUTSIDE, TRANSLATOR = "lan", "wan", "nat64"
"""The interfaces of a gateway; by the last one packets go to a translator, and come back as the other family's."""

OWN_TRANSLATOR, OWN_ADDRESS = "clat", "192.0.0.4"
"""The same of a leaf whose link carries IPv6 alone, and its address of IPv4 there: RFC 6877, section 6.3; RFC 7335."""

WIRED = "eth0"
"""The interface of a leaf."""

HEADER_DIFFERENCE = IP[6].size - IP[4].size
"""Bytes by which a packet of IPv4 grows as one of IPv6."""

NODES = ("gateway", "carrier")
"""What the gateways before a leaf are called, the one that is nearest to it first: `gateway-a`."""

USUAL_MTU = 1500
"""Bytes that the network itself carries at least, whatever a leaf's own link does."""

OTHER_NETWORKS = {4: ("10.2.", "10.3."), 6: ("fd02:", "fd03:")}
"""How the networks around that in which a leaf is reached begin, by address family; theirs begins as PUBLIC says."""

PUBLIC = {4: "10.0.", 6: "fd00:"}

GLOBAL = "12.0."
"""The same of a gateway that opens ports to who asks, since miniupnpd opens none where its address is private (RFC
1918); and of all where one translates to IPv6, or a tunnel asks for it. Not each will do: ZeroTier takes twelve of the
networks that begin with one number for private, 11.0.0.0/8 among them (1.14.1, node/InetAddress.cpp, ipScope())."""

CARRIER = Access("carrier", firewall="stateful")
"""What a carrier's gateway does besides."""


class Gateway(NamedTuple):
    """A node before a leaf. `link` lies behind it: None for a carrier's, which has the other end of the link.

    `own` is the access as far as this gateway keeps it. `behind` is the address of the node next to it, from which all
    packets come that it passes on. `roles` are those of the nodes with a role.
    """

    node: str
    nat: str
    access: Access
    own: Access
    inside: Overlay
    outside: Overlay
    link: Link | None
    behind: str
    roles: tuple[str, ...] = ()

    @property
    def translates(self) -> bool:
        """Whether the addresses behind it are hidden."""
        return self.nat != NONE

    @property
    def from_ipv6(self) -> bool:
        """Whether it makes packets of IPv4 out of those of IPv6."""
        return self.inside.family != self.outside.family

    @property
    def inner(self) -> str:
        """The interface by which packets come from inside that are of the outer address family."""
        return TRANSLATOR if self.from_ipv6 else INSIDE

    @property
    def firewall(self) -> str:
        """Its firewall."""
        return self.own.firewall_over(self.outside.family)

    @property
    def opens(self) -> str:
        """The protocol by which it opens ports to who asks: `none` where it does not, or translates nothing."""
        return self.own.portmap if self.translates else NONE

    @property
    def hairpins(self) -> bool:
        """Whether it leads back what the node behind it sends to itself."""
        return self.translates and NATS[self.nat].hairpin

    @property
    def network(self) -> str:
        """The network behind it, in CIDR notation."""
        return str(ip_interface(self.inside.cidr).network)


def before(name: str, access: Access, leaf: Overlay, roles: tuple[str, ...] = ()) -> tuple[Gateway, ...]:
    """The gateways before a leaf, the one that is nearest to it first; `leaf` is what it would have without them.

    `roles` are the addresses of the nodes with a role.

    Over IPv6 nothing is translated, and no carrier's NAT is there. The access's link is that of the innermost gateway:
    what joins a carrier's with the network is never the narrower one, so that none but the ends of the link refuse.
    """
    if access.translates_family(leaf.family):
        return _with_ipv6_alone(name, access, leaf, roles)
    mtu = access.link.mtu
    nats = access.nats if leaf.family == 4 else [NONE]
    translating = [number for number, nat in enumerate(nats, start=1) if nat != NONE]
    usual = _begins(leaf)
    public = GLOBAL if translating and access.portmap != NONE else usual
    networks = _networks(len(nats) + 1, max(translating, default=0), public, leaf.family)
    there = [leaf._replace(address=leaf.address.replace(usual, network, 1)) for network in networks]
    return tuple(
        Gateway(
            f"{NODES[number]}-{name}",
            nat,
            access,
            access if number == 0 else CARRIER,
            there[number]._replace(interface=INSIDE, address=first_of(there[number].address)),
            there[number + 1]._replace(interface=OUTSIDE, mtu=mtu if number == 0 else max(USUAL_MTU, mtu)),
            access.link if number == 0 else None,
            there[number].address,
            roles,
        )
        for number, nat in enumerate(nats)
    )


def _with_ipv6_alone(name: str, access: Access, leaf: Overlay, roles: tuple[str, ...]) -> tuple[Gateway, ...]:
    """One gateway that routes IPv6 and has the link behind it, and the carrier's, which translates and filters."""
    number = int(leaf.address.split(".")[2])
    near, far = (f"{network}0:0:{number:x}::" for network in OTHER_NETWORKS[6])

    def side(interface: str, address: str, mtu: int) -> Overlay:
        return Overlay(interface, address, 64, mtu, leaf.framing)

    mtu = access.link.mtu
    routes = replace(access, firewall="open", allow=(), deny=())
    wan = leaf._replace(interface=OUTSIDE, mtu=max(USUAL_MTU, mtu))
    ends = side(INSIDE, f"{near}1", leaf.mtu), side(OUTSIDE, f"{far}2", mtu), side(INSIDE, f"{far}1", mtu)
    # Those that are too large for the link are dropped there, as packets of IPv6.
    translates, mapped = replace(access, fragments=PASSED), leaf.address.replace(GLOBAL, OTHER_NETWORKS[4][1], 1)
    return (
        Gateway(f"{NODES[0]}-{name}", NONE, access, routes, *ends[:2], access.link, f"{near}2", roles),
        Gateway(f"{NODES[1]}-{name}", access.nat, access, translates, ends[2], wan, None, mapped, roles),
    )


def _begins(leaf: Overlay) -> str:
    """How the addresses of the network begin."""
    return GLOBAL if leaf.address.startswith(GLOBAL) else PUBLIC[leaf.family]


def _networks(number: int, reached: int, public: str, family: int) -> list[str]:
    """How the networks from a leaf to the middle begin: the one at `reached`, where others reach it, as `public`."""
    others = iter(OTHER_NETWORKS[family])
    return [public if index == reached else next(others) for index in range(number)]


def behind(leaf: Overlay, gateways: Sequence[Gateway]) -> Overlay:
    """What a leaf has behind gateways, where others reach it by an address of the outermost one that translates."""
    translating = [one for one in gateways if one.translates]
    if not translating:
        return leaf
    if translating[-1].from_ipv6:
        mtu = leaf.mtu - HEADER_DIFFERENCE
        return Overlay(OWN_TRANSLATOR, leaf.address, ADDRESS_BITS[4], mtu, own=OWN_ADDRESS)
    return leaf._replace(address=translating[-1].outside.address, own=gateways[0].behind)


def first_of(address: str) -> str:
    """The first address of the network of an address."""
    mark = ":" if ":" in address else "."
    return address.rpartition(mark)[0] + mark + "1"
