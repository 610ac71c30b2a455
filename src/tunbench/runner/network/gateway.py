"""Gateways as data: the nodes that an access puts before a leaf, and the addresses on both sides of each.

The address by which others reach a leaf is the same with gateways as without: it is that of the outermost one that
translates, and else the leaf's own. It begins with 11.0 where a gateway opens ports to who asks. The networks within
and without that one have numbers of their own.

       no NAT                  NAT                     two NATs
       leaf     10.0.1.2       leaf     10.2.1.2       leaf     10.2.1.2
       gateway  10.0.1.1       gateway  10.2.1.1       gateway  10.2.1.1
                10.2.1.2                10.0.1.2                10.3.1.2
       router   10.2.1.1       router   10.0.1.1       carrier  10.3.1.1
                                                                10.0.1.2
                                                       router   10.0.1.1
"""

from collections.abc import Sequence
from ipaddress import ip_interface
from typing import NamedTuple

from tunbench.runner.declare.access import NATS, NONE, Access
from tunbench.runner.declare.link import Link
from tunbench.runner.declare.overlay import Overlay

INSIDE, OUTSIDE = "lan", "wan"
"""The interfaces of a gateway."""

NODES = ("gateway", "carrier")
"""What the gateways before a leaf are called, the one that is nearest to it first: `gateway-a`."""

USUAL_MTU = 1500
"""Bytes that the network itself carries at least, whatever a leaf's own link does."""

OTHER_NETWORKS = {4: ("10.2.", "10.3."), 6: ("fd02:", "fd03:")}
"""How the networks around that in which a leaf is reached begin, by address family; theirs begins as PUBLIC says."""

PUBLIC = {4: "10.0.", 6: "fd00:"}

GLOBAL = "11.0."
"""The same of a gateway that opens ports to who asks: miniupnpd opens none where its address is private (RFC 1918)."""

CARRIER = Access("carrier", firewall="stateful")
"""What a carrier's gateway does besides."""


class Gateway(NamedTuple):
    """A node before a leaf. `link` lies behind it: None for a carrier's, which has the other end of the link.

    `behind` is the address of the node next to it, from which all packets come that it passes on. `roles` are those of
    the nodes with a role.
    """

    node: str
    nat: str
    access: Access
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
    def own(self) -> Access:
        """The access as far as this gateway keeps it: a carrier's NAT translates and lets in what answers."""
        return self.access if self.link else CARRIER

    @property
    def firewall(self) -> str:
        """Its firewall."""
        return self.own.firewall_over(self.inside.family)

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
    mtu = access.link.mtu
    nats = access.nats if leaf.family == 4 else [NONE]
    translating = [number for number, nat in enumerate(nats, start=1) if nat != NONE]
    public = GLOBAL if translating and access.portmap != NONE else PUBLIC[leaf.family]
    networks = _networks(len(nats) + 1, max(translating, default=0), public, leaf.family)
    there = [leaf._replace(address=leaf.address.replace(PUBLIC[leaf.family], network, 1)) for network in networks]
    return tuple(
        Gateway(
            f"{NODES[number]}-{name}",
            nat,
            access,
            there[number]._replace(interface=INSIDE, address=first_of(there[number].address)),
            there[number + 1]._replace(interface=OUTSIDE, mtu=mtu if number == 0 else max(USUAL_MTU, mtu)),
            access.link if number == 0 else None,
            there[number].address,
            roles,
        )
        for number, nat in enumerate(nats)
    )


def _networks(number: int, reached: int, public: str, family: int) -> list[str]:
    """How the networks from a leaf to the middle begin: the one at `reached`, where others reach it, as `public`."""
    others = iter(OTHER_NETWORKS[family])
    return [public if index == reached else next(others) for index in range(number)]


def behind(leaf: Overlay, gateways: Sequence[Gateway]) -> Overlay:
    """What a leaf has behind gateways, where others reach it by an address of the outermost one that translates."""
    translating = [one for one in gateways if one.translates]
    if not translating:
        return leaf
    return leaf._replace(address=translating[-1].outside.address, own=gateways[0].behind)


def first_of(address: str) -> str:
    """The first address of the network of an address."""
    mark = ":" if ":" in address else "."
    return address.rpartition(mark)[0] + mark + "1"
