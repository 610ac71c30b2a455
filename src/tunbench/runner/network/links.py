"""Makes the links of an underlay, and the routes or the bridge between them."""

from collections.abc import Mapping

from tunbench.runner.declare.access import NONE
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.network import wires
from tunbench.runner.network.access.gateway import GLOBAL, Gateway, first_of
from tunbench.runner.network.underlay import EDGE, MTU, Underlay, Wire, lans
from tunbench.runner.node.node import ROOT_NODE, Node

FORWARDING = {4: "net.ipv4.ip_forward=1", 6: "net.ipv6.conf.all.forwarding=1"}

NO_REDIRECTS = ("net.ipv4.conf.all.send_redirects=0", "net.ipv4.conf.default.send_redirects=0")
"""A hub passes packets on to where they came from, and must not tell spokes to go there by themselves."""

NETWORKS = {
    4: ("10.0.0.0/16", "10.0.0.0/8", "0.0.0.0/0"),
    6: ("fd00::/16", "fd00::/8", "::/0"),
}
"""By address family: the networks of the underlay, those of the lab, and everything there is."""

GLOBAL_NETWORK = f"{GLOBAL}0.0/16"
"""The network of those behind gateways that open ports, and of all where one translates to IPv6."""


def build(underlay: Underlay, nodes: Mapping[str, Node]) -> None:
    """Builds an underlay between the nodes. Raises CommandFailed."""
    # A router asks for neighbours from its link-local address, which has no duplicate here: it need not wait.
    for router in _of_ipv6(underlay):
        nodes[router].run("sysctl", "-qw", "net.ipv6.conf.default.accept_dad=0")
    nodes[ROOT_NODE].ip(*map(_veth, underlay.wires))
    (_bridge if underlay.kind == "ethernet" else _route)(underlay, nodes)


def _of_ipv6(underlay: Underlay) -> list[str]:
    """The nodes that pass on packets of IPv6, an endpoint's own translator among them."""
    if underlay.kind == "ip6":
        return [underlay.middle, *(one.node for one in underlay.all_gateways)]
    translated = {name: some for name, some in underlay.gateways.items() if some[-1].from_ipv6}
    return [node for name, some in translated.items() for node in (name, *(one.node for one in some))]


def _veth(wire: Wire) -> str:
    """The words that join two interfaces, with an MTU where it is not the usual one."""
    mtu = "" if wire.mtu == MTU else f" mtu {wire.mtu}"
    near, far = wire.near, wire.far
    return f"link add {far.name} netns {far.node}{mtu} type veth peer name {near.name} netns {near.node}{mtu}"


def join(underlay: Underlay, overlay: Mapping[str, Overlay], nodes: Mapping[str, Node]) -> None:
    """Joins the hosts behind the endpoints with them, and lets a hub pass packets on. Raises CommandFailed."""
    family = next(iter(overlay.values())).family
    bare = overlay == underlay.endpoints
    for name, lan in lans(underlay.topology, overlay).items():
        nodes[ROOT_NODE].ip(f"link add lan netns {name} type veth peer name eth0 netns {lan.host}")
        nodes[name].ip("link set lan up", f"address add {lan.here.address_words}")
        nodes[name].run("sysctl", "-qw", FORWARDING[family])
        if underlay.link.cuts:
            wires.cut(nodes[name], "lan")
            wires.cut(nodes[lan.host], "eth0")
        _connect(nodes[lan.host], lan.there, lan.here.address)
        if bare and underlay.kind != "ethernet":
            _lead_back(underlay, name, lan.network, nodes)
    if hub := underlay.topology.hub:
        nodes[hub].run("sysctl", "-qw", FORWARDING[family], *NO_REDIRECTS)


def _lead_back(underlay: Underlay, name: str, network: str, nodes: Mapping[str, Node]) -> None:
    """Has the middle and the gateways before an endpoint know the network behind that."""
    via = underlay.endpoints[name].local
    for one in underlay.gateways.get(name, ()):
        nodes[one.node].ip(f"route add {network} via {via}")
        via = one.outside.address
    nodes[underlay.middle].ip(f"route add {network} via {via}")


def _route(underlay: Underlay, nodes: Mapping[str, Node]) -> None:
    leaves = underlay.leaves
    edge = leaves[EDGE]
    around = {name: underlay.outermost(name)[1] for name in leaves}
    gateways = {name: leaf._replace(address=first_of(leaf.address)) for name, leaf in around.items()}
    nodes[underlay.middle].ip(
        "link set lo up",
        *(f"link set to-{name} up" for name in leaves),
        *(
            f"address add {gateway._replace(interface=f'to-{name}').address_words}"
            for name, gateway in gateways.items()
        ),
        f"route add default via {edge.address}",
        *(f"route add {one.network} via {one.outside.address}" for name in leaves for one in underlay.routed(name)),
    )
    nodes[underlay.middle].run("sysctl", "-qw", FORWARDING[edge.family])
    for one in underlay.all_gateways:
        _pass_on(nodes[one.node], one)
    for name in leaves:
        wired = underlay.wired(name)
        _connect(nodes[name], wired, "" if name == EDGE else first_of(wired.local))
    nodes[EDGE].ip(*_everything(edge.family, gateways[EDGE].address))
    if edge.address.startswith(GLOBAL) or any(one.opens != NONE for one in underlay.all_gateways):
        nodes[EDGE].ip(f"route add {GLOBAL_NETWORK} via {gateways[EDGE].address}")


def _pass_on(node: Node, gateway: Gateway) -> None:
    """Joins a gateway with what is on both sides of it, and lets it pass packets on."""
    sides = (gateway.inside, gateway.outside)
    node.ip(
        "link set lo up",
        *(f"link set {side.interface} up" for side in sides),
        *(f"address add {side.address_words}" for side in sides),
        f"route add default via {first_of(gateway.outside.address)}",
    )
    node.run("sysctl", "-qw", *dict.fromkeys(FORWARDING[side.family] for side in sides))


def _bridge(underlay: Underlay, nodes: Mapping[str, Node]) -> None:
    ports = [f"to-{name}" for name in underlay.leaves]
    nodes[underlay.middle].ip(
        "link set lo up",
        # A cable passes the frames of IEEE 802.1X; a bridge does with bit 3, since IEEE 802.1D reserves their address.
        "link add br0 type bridge group_fwd_mask 8",
        *(f"link set {port} master br0 up" for port in ports),
        "link set br0 up",
    )
    for name, leaf in underlay.leaves.items():
        _connect(nodes[name], leaf, "" if name == EDGE else underlay.name_server)
    nodes[EDGE].ip(*_everything(4, ""))


def _connect(node: Node, leaf: Overlay, gateway: str) -> None:
    route = [f"route add default via {gateway}"] if gateway else []
    node.ip("link set lo up", "link set eth0 up", f"address add {leaf.address_words}", *route)


def _everything(family: int, gateway: str) -> list[str]:
    """What makes a node the end of the world: every address outside the lab is its own, and answered at once.

    Its answers find the lab in the same table, where the narrower route wins: IPv6 asks `local` before all others.
    """
    underlay, lab, all_there_is = NETWORKS[family]
    back = [f"route add {underlay} via {gateway}"] if gateway else []
    return [*back, f"route add unreachable {lab}", f"route add local {all_there_is} dev lo table main"]
