"""The underlay as data: the nodes, their addresses, and the router or bridge that stands between the endpoints."""

from collections.abc import Collection, Mapping
from ipaddress import ip_interface
from types import MappingProxyType
from typing import NamedTuple

from tunbench.runner.declare.link import Link
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.packet_format import ETHERNET
from tunbench.runner.declare.topology import CONTROL, PAIR, RELAY, Topology

MTU = 1500
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


class Underlay(NamedTuple):
    """Endpoints with `middle` between them; `towards` are the interfaces that packets for each endpoint pass.

    They are the middle's, or the endpoints' own where no node of the lab stands between them. `roles` are the nodes
    besides endpoints that a stack needs, by role: each node has its role's name. `link` joins each leaf to the middle;
    its rate and its MTU are those of endpoints alone.
    """

    kind: str
    middle: str
    endpoints: Mapping[str, Overlay]
    towards: Mapping[str, Interface]
    name_server: str
    topology: Topology
    roles: Mapping[str, Overlay] = MappingProxyType({})
    link: Link = WIRE

    @property
    def names(self) -> list[str]:
        """The names of all its nodes."""
        return [*self.endpoints, *self.topology.hosts.values(), *self.roles, self.middle, EDGE]

    @property
    def passed(self) -> list[str]:
        """The names of those that packets of a tunnel pass or come from: all but the edge."""
        return [name for name in self.names if name != EDGE]

    @property
    def leaves(self) -> dict[str, Overlay]:
        """What stands around the middle: endpoints, nodes with a role, and the edge."""
        edge = next(iter(self.endpoints.values()))._replace(address=self.name_server)
        return {**self.endpoints, **self.roles, EDGE: edge}


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


def of(kind: str, topology: Topology = PAIR, link: Link = WIRE, roles: Collection[str] = ()) -> Underlay:
    """The underlay of that kind, whose endpoints have such links, and nodes for these roles; nothing is made."""
    plan = UNDERLAY_KINDS[kind]
    return Underlay(
        kind,
        plan.middle,
        endpoints={
            name: Overlay("eth0", plan.address.format(number), plan.prefix, link.mtu, ETHERNET.size)
            for number, name in enumerate(topology.endpoints, start=1)
        },
        towards={name: Interface(plan.middle, f"to-{name}") for name in topology.endpoints},
        name_server=plan.name_server,
        topology=topology,
        roles={
            role: Overlay("eth0", plan.address.format(ROLES[role]), plan.prefix, MTU, ETHERNET.size) for role in roles
        },
        link=link,
    )


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
            found[name] = Lan(topology.hosts[name], there._replace(interface="eth0"), here._replace(interface="lan"))
    return found
