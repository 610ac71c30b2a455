"""The underlay as data: the nodes, their addresses, and the router or bridge that stands between the endpoints."""

from collections.abc import Collection, Mapping
from ipaddress import ip_interface
from types import MappingProxyType
from typing import NamedTuple

from tunbench.runner.declare.access import NO_GATEWAYS, NONE, Accesses
from tunbench.runner.declare.link import Link
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.packet_format import ETHERNET
from tunbench.runner.declare.topology import CONTROL, PAIR, RELAY, Topology
from tunbench.runner.network.access import gateway
from tunbench.runner.network.access.gateway import GLOBAL, PUBLIC, WIRED, Gateway

MTU = gateway.USUAL_MTU
"""MTU of what stands in the network itself, in bytes."""

WIRE = Link("wire")
"""The usual link of an endpoint."""

EDGE = "edge"


class Lan(NamedTuple):
    """The network behind an endpoint: the host in it, and the endpoint's own interface there."""

    host: str
    there: Overlay
    here: Overlay

    @property
    def network(self) -> str:
        """The network in CIDR notation."""
        return str(ip_interface(self.there.cidr).network)


class Interface(NamedTuple):
    """An interface of a node, by the names of both."""

    node: str
    name: str


class Wire(NamedTuple):
    """Two interfaces that are joined, `near` the one that is nearer to a leaf; MTU in bytes.

    Without a link nothing has to wait.
    """

    near: Interface
    far: Interface
    link: Link | None
    mtu: int


class Underlay(NamedTuple):
    """Endpoints with `middle` between them; `towards` are the interfaces that packets for each endpoint pass.

    They are the middle's, or the endpoints' own where no node of the lab stands between them. `roles` are the nodes
    besides endpoints that a stack needs, by role: each node has its role's name. `link` joins each leaf to the middle,
    or to the first of its `gateways`, from the leaf to the middle; its rate and its MTU are those of endpoints alone.
    """

    kind: str
    middle: str
    endpoints: Mapping[str, Overlay]
    towards: Mapping[str, Interface]
    name_server: str
    topology: Topology
    roles: Mapping[str, Overlay] = MappingProxyType({})
    link: Link = WIRE
    gateways: Mapping[str, tuple[Gateway, ...]] = MappingProxyType({})

    @property
    def names(self) -> list[str]:
        """The names of all its nodes."""
        before = [one.node for one in self.all_gateways]
        return [*self.endpoints, *self.topology.hosts.values(), *self.roles, *before, self.middle, EDGE]

    @property
    def between(self) -> list[str]:
        """The names of the nodes of the lab that stand between endpoints: gateways, and the router or bridge."""
        return [*(one.node for one in self.all_gateways), *([self.middle] if self.middle else [])]

    @property
    def all_gateways(self) -> list[Gateway]:
        """The gateways of all leaves."""
        return [one for some in self.gateways.values() for one in some]

    @property
    def passed(self) -> list[str]:
        """The names of those that packets of a tunnel pass or come from: all but the edge."""
        return [name for name in self.names if name != EDGE]

    @property
    def leaves(self) -> dict[str, Overlay]:
        """What stands around the middle: endpoints, nodes with a role, and the edge."""
        prefix = UNDERLAY_KINDS[self.kind].prefix
        edge = Overlay(WIRED, self.name_server, prefix, self.link.mtu, ETHERNET.size)
        return {**self.endpoints, **self.roles, EDGE: edge}

    def wired(self, name: str) -> Overlay:
        """What a leaf has on its wire, which may be of another address family than that by which others reach it."""
        leaf, before = self.leaves[name], self.gateways.get(name, ())
        if before and before[-1].from_ipv6:
            return before[0].inside._replace(interface=WIRED, address=before[0].behind)
        return leaf._replace(mtu=self.link.mtu) if name in self.endpoints else leaf

    def routed(self, name: str) -> list[Gateway]:
        """The gateways before a leaf whose networks the middle must know: none where one translates."""
        before = self.gateways.get(name, ())
        return [] if any(one.translates for one in before) else list(before)

    @property
    def closed(self) -> frozenset[str]:
        """The endpoints that nothing reaches before they have spoken."""
        before = {name: self.gateways[name][0].access for name in self.endpoints if name in self.gateways}
        return frozenset(name for name, one in before.items() if not one.lets_in(self.endpoints[name].family))

    @property
    def asking(self) -> frozenset[str]:
        """The endpoints that may ask their gateway for an open port."""
        return frozenset(
            name for name in self.endpoints if self.gateways.get(name) and self.gateways[name][0].opens != NONE
        )

    @property
    def wires(self) -> list[Wire]:
        """What joins two nodes, those of each leaf from the leaf to the middle."""
        return [wire for name in self.leaves for wire in self.wires_of(name)]

    def outermost(self, name: str) -> tuple[str, Overlay]:
        """The node that the middle sees before a leaf, which is the leaf itself without gateways; and what it has."""
        before = self.gateways.get(name, ())
        return (before[-1].node, before[-1].outside) if before else (name, self.leaves[name])

    def wires_of(self, name: str) -> list[Wire]:
        """What joins two nodes from a leaf to the middle, in this order."""
        leaf = self.wired(name)
        ends = [(Interface(name, leaf.interface), self.link if name in self.endpoints else None, leaf.mtu)]
        wires = []
        for one in self.gateways.get(name, ()):
            near, link, mtu = ends[-1]
            wires.append(Wire(near, Interface(one.node, one.inside.interface), link, mtu))
            ends.append((Interface(one.node, one.outside.interface), one.link, one.outside.mtu))
        near, link, mtu = ends[-1]
        return [*wires, Wire(near, Interface(self.middle, f"to-{name}"), link, mtu)]


class UnderlayKind(NamedTuple):
    """A kind of underlay: what stands in the middle, and the addresses of an endpoint by its number, counted from 1."""

    middle: str
    address: str
    prefix: int
    name_server: str


UNDERLAY_KINDS = {
    "ip": UnderlayKind("router", "10.0.{0}.2", 24, "10.0.255.2"),
    "ip6": UnderlayKind("router", "fd00:0:0:{0:x}::2", 64, "fd00:0:0:ff::2"),
    "ethernet": UnderlayKind("bridge", "10.0.0.{0}", 24, "10.0.0.254"),
}
"""By what the lowest layer of a stack needs."""

LANS = {4: ("10.1.{0}.{1}", 24), 6: ("fd01:0:0:{0:x}::{1:x}", 64)}
"""Address and prefix length in the network behind an endpoint, by address family: its number, and that of the host."""


ROLES = {CONTROL: 252, RELAY: 251}
"""The number of a node with a role, by which it has its address: above those of all endpoints, below the edge."""


def of(
    kind: str,
    topology: Topology = PAIR,
    link: Link = WIRE,
    roles: Collection[str] = (),
    accesses: Accesses = NO_GATEWAYS,
    of_global_scope: bool = False,
) -> Underlay:
    """The underlay of that kind, whose endpoints have such links, and nodes for these roles; nothing is made.

    Addresses of IPv4 are private ones, unless they must be `of_global_scope` or an access translates to IPv6. Raises
    ValueError where a gateway shall stand before a bridge.
    """
    plan = UNDERLAY_KINDS[kind]
    if kind == "ip" and (of_global_scope or accesses.translate_families):
        plan = _global(plan)
    # A veth that puts packets together counts them without their header: veth_xdp_rcv() of Linux 6.1.
    header = 0 if link.gro else ETHERNET.size
    bare = {
        name: Overlay(WIRED, plan.address.format(number), plan.prefix, link.mtu, header)
        for number, name in enumerate(topology.endpoints, start=1)
    }
    beside = {role: Overlay(WIRED, plan.address.format(ROLES[role]), plan.prefix, MTU, ETHERNET.size) for role in roles}
    named = {name: accesses.of_endpoint(name) for name in bare} | {role: accesses.of_role(role) for role in roles}
    addresses = tuple(leaf.address for leaf in beside.values())
    leaves = (bare | beside).items()
    before = {name: gateway.before(name, one, leaf, addresses) for name, leaf in leaves if (one := named[name])}
    reached = {name: gateway.behind(leaf, before.get(name, ())) for name, leaf in bare.items()}
    # A tunnel has one MTU: who sets it up takes the narrower end's at both.
    narrowest = min(leaf.mtu for leaf in reached.values())
    if before and plan.middle != "router":
        raise ValueError("a gateway routes IP packets, and a stack here needs Ethernet between the endpoints")
    return Underlay(
        kind,
        plan.middle,
        endpoints={name: leaf._replace(mtu=narrowest) for name, leaf in reached.items()},
        towards={name: Interface(plan.middle, f"to-{name}") for name in topology.endpoints},
        name_server=plan.name_server,
        topology=topology,
        roles={name: gateway.behind(leaf, before.get(name, ())) for name, leaf in beside.items()},
        link=link,
        gateways=before,
    )


def _global(plan: UnderlayKind) -> UnderlayKind:
    """The same with addresses of global scope."""
    address, server = (text.replace(PUBLIC[4], GLOBAL, 1) for text in (plan.address, plan.name_server))
    return plan._replace(address=address, name_server=server)


PAIR_UNDERLAYS = {kind: of(kind) for kind in UNDERLAY_KINDS}
"""The underlay of the topology `pair`, by its kind."""


def lans(topology: Topology, overlay: Mapping[str, Overlay]) -> dict[str, Lan]:
    """The networks behind the endpoints, by endpoint; address family and MTU are those of the overlay."""
    found = {}
    for number, name in enumerate(topology.endpoints, start=1):
        if name in topology.hosts:
            text, prefix = LANS[overlay[name].family]
            mtu = min(MTU, overlay[name].mtu)
            here, there = (Overlay("", text.format(number, host), prefix, mtu, ETHERNET.size) for host in (1, 2))
            found[name] = Lan(topology.hosts[name], there._replace(interface=WIRED), here._replace(interface="lan"))
    return found
