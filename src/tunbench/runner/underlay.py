"""The underlay: links between the nodes, and the router or bridge that stands between the endpoints."""

from collections.abc import Mapping
from typing import NamedTuple

from tunbench.runner.contract import Overlay
from tunbench.runner.node import Node

MTU = 1500
"""MTU of every link, in bytes."""

ENDPOINTS = ("a", "b")
EDGE = "edge"


class Underlay(NamedTuple):
    """A pair of endpoints with `middle` between them; `towards` are the interfaces of the middle, by endpoint."""

    middle: str
    endpoints: Mapping[str, Overlay]
    towards: Mapping[str, str]
    name_server: str

    @property
    def names(self) -> list[str]:
        """The names of all its nodes."""
        return [*self.endpoints, self.middle, EDGE]


UNDERLAYS = {
    "ip": Underlay(
        middle="router",
        endpoints={name: Overlay("eth0", f"10.0.{net}.2", 24, MTU) for net, name in enumerate(ENDPOINTS, start=1)},
        towards={name: f"to-{name}" for name in ENDPOINTS},
        name_server="10.0.3.2",
    ),
    "ip6": Underlay(
        middle="router",
        endpoints={name: Overlay("eth0", f"fd00:0:0:{net}::2", 64, MTU) for net, name in enumerate(ENDPOINTS, start=1)},
        towards={name: f"to-{name}" for name in ENDPOINTS},
        name_server="fd00:0:0:3::2",
    ),
    "ethernet": Underlay(
        middle="bridge",
        endpoints={name: Overlay("eth0", f"10.0.0.{host}", 24, MTU) for host, name in enumerate(ENDPOINTS, start=1)},
        towards={name: f"to-{name}" for name in ENDPOINTS},
        name_server="10.0.0.254",
    ),
}
"""The underlay of the topology `pair`, by what the lowest layer of a stack needs."""

FORWARDING = {4: "net.ipv4.ip_forward=1", 6: "net.ipv6.conf.all.forwarding=1"}

OUTSIDE = {
    4: ("10.0.0.0/16", "10.0.0.0/8", "0.0.0.0/0"),
    6: ("fd00::/16", "fd00::/8", "::/0"),
}
"""By address family: the networks of the underlay, those of the lab, and everything there is."""


def build(kind: str, nodes: Mapping[str, Node]) -> Underlay:
    """Builds the underlay of that kind between the nodes. Raises CommandFailed."""
    underlay = UNDERLAYS[kind]
    leaves = [*underlay.endpoints, EDGE]
    if kind == "ip6":
        # A router asks for neighbours from its link-local address, which has no duplicate here: it need not wait.
        nodes[underlay.middle].run("sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0")
    nodes["lab"].ip(
        *(f"link add to-{name} netns {underlay.middle} type veth peer name eth0 netns {name}" for name in leaves)
    )
    (_bridge if kind == "ethernet" else _route)(underlay, nodes)
    return underlay


def _route(underlay: Underlay, nodes: Mapping[str, Node]) -> None:
    edge = next(iter(underlay.endpoints.values()))._replace(address=underlay.name_server)
    leaves = {**underlay.endpoints, EDGE: edge}
    gateways = {name: leaf._replace(address=_gateway(leaf.address)) for name, leaf in leaves.items()}
    nodes[underlay.middle].ip(
        "link set lo up",
        *(f"link set to-{name} up" for name in leaves),
        *(f"address add {gateway.cidr} dev to-{name}{_at_once(gateway)}" for name, gateway in gateways.items()),
        f"route add default via {edge.address}",
    )
    nodes[underlay.middle].run("sysctl", "-qw", FORWARDING[edge.family])
    for name, leaf in leaves.items():
        _connect(nodes[name], leaf, "" if name == EDGE else gateways[name].address)
    nodes[EDGE].ip(*_everything(edge.family, gateways[EDGE].address))


def _bridge(underlay: Underlay, nodes: Mapping[str, Node]) -> None:
    ports = [f"to-{name}" for name in (*underlay.endpoints, EDGE)]
    nodes[underlay.middle].ip(
        "link set lo up",
        # Bit 3 lets the EAPOL frames of MACsec's key agreement pass (IEEE 802.1D reserves their address).
        "link add br0 type bridge group_fwd_mask 8",
        *(f"link set {port} master br0 up" for port in ports),
        "link set br0 up",
    )
    for name, overlay in underlay.endpoints.items():
        _connect(nodes[name], overlay, underlay.name_server)
    _connect(nodes[EDGE], Overlay("eth0", underlay.name_server, 24, MTU), "")
    nodes[EDGE].ip(*_everything(4, ""))


def _gateway(address: str) -> str:
    """The first address of the network of an address."""
    mark = ":" if ":" in address else "."
    return address.rpartition(mark)[0] + mark + "1"


def _connect(node: Node, leaf: Overlay, gateway: str) -> None:
    route = [f"route add default via {gateway}"] if gateway else []
    node.ip("link set lo up", "link set eth0 up", f"address add {leaf.cidr} dev eth0{_at_once(leaf)}", *route)


def _at_once(leaf: Overlay) -> str:
    """An IPv6 address is used at once: nobody else in the lab can have it."""
    return " nodad" if leaf.family == 6 else ""


def _everything(family: int, gateway: str) -> list[str]:
    """What makes a node the end of the world: every address outside the lab is its own, and answered at once."""
    underlay, lab, all_there_is = OUTSIDE[family]
    back = [f"route add {underlay} via {gateway}"] if gateway else []
    return [*back, f"route add unreachable {lab}", f"route add local {all_there_is} dev lo"]
