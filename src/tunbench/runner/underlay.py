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


PLANS = {
    "ip": Underlay(
        middle="router",
        endpoints={name: Overlay("eth0", f"10.0.{net}.2", 24, MTU) for net, name in enumerate(ENDPOINTS, start=1)},
        towards={name: f"to-{name}" for name in ENDPOINTS},
        name_server="10.0.3.2",
    ),
    "ethernet": Underlay(
        middle="bridge",
        endpoints={name: Overlay("eth0", f"10.0.0.{host}", 24, MTU) for host, name in enumerate(ENDPOINTS, start=1)},
        towards={name: f"to-{name}" for name in ENDPOINTS},
        name_server="10.0.0.254",
    ),
}
"""The underlay of the topology `pair`, by what the lowest layer of a stack needs."""


def build(kind: str, nodes: Mapping[str, Node]) -> Underlay:
    """Builds the underlay of that kind between the nodes. Raises CommandFailed."""
    underlay = PLANS[kind]
    leaves = [*underlay.endpoints, EDGE]
    nodes["lab"].ip(
        *(f"link add to-{name} netns {underlay.middle} type veth peer name eth0 netns {name}" for name in leaves)
    )
    (_route if kind == "ip" else _bridge)(underlay, nodes)
    return underlay


def _route(underlay: Underlay, nodes: Mapping[str, Node]) -> None:
    addresses = {name: overlay.address for name, overlay in underlay.endpoints.items()} | {EDGE: underlay.name_server}
    gateways = {name: address.rpartition(".")[0] + ".1" for name, address in addresses.items()}
    nodes[underlay.middle].ip(
        "link set lo up",
        *(f"link set to-{name} up" for name in addresses),
        *(f"address add {gateway}/24 dev to-{name}" for name, gateway in gateways.items()),
        f"route add default via {underlay.name_server}",
    )
    nodes[underlay.middle].run("sysctl", "-qw", "net.ipv4.ip_forward=1")
    for name, address in addresses.items():
        _connect(nodes[name], f"{address}/24", "" if name == EDGE else gateways[name])
    nodes[EDGE].ip(*_everything(gateways[EDGE]))


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
        _connect(nodes[name], overlay.cidr, underlay.name_server)
    _connect(nodes[EDGE], f"{underlay.name_server}/24", "")
    nodes[EDGE].ip(*_everything(""))


def _connect(node: Node, cidr: str, gateway: str) -> None:
    route = [f"route add default via {gateway}"] if gateway else []
    node.ip("link set lo up", "link set eth0 up", f"address add {cidr} dev eth0", *route)


def _everything(gateway: str) -> list[str]:
    """What makes a node the end of the world: every address outside the lab is its own, and answered at once."""
    back = [f"route add 10.0.0.0/16 via {gateway}"] if gateway else []
    return [*back, "route add unreachable 10.0.0.0/8", "route add local 0.0.0.0/0 dev lo"]
