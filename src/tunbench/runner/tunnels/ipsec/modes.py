"""How traffic gets into the SAs: the modes as data, and what each needs on a node."""

from collections.abc import Callable, Iterator
from ipaddress import ip_network
from itertools import product
from typing import NamedTuple

from tunbench.runner.declare.kernel_module import Module
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Tunnel
from tunbench.runner.tunnels.shared import kernel_links, kernel_modules

MARK = 42
"""What joins an interface and its policies: the key and mark of a VTI, the ID of an XFRM interface."""

EVERYTHING = {4: "0.0.0.0/0", 6: "::/0"}

ENDPOINTS, HOSTS = "tunbench", "hosts"
"""The connections, by what they join: the two endpoints, and the hosts behind them."""


class Connection(NamedTuple):
    """What is negotiated with a peer: the traffic that its policies take, from a node and from there, as networks."""

    name: str
    peer: str
    local: str
    remote: str


class Mode(NamedTuple):
    """A mode: that of ESP, whether it has an interface of its own, and what goes up and comes down with it.

    `modules` are the kernel's for that interface.
    """

    esp: str
    interface: bool
    up: Callable[[Tunnel, Node], None]
    down: Callable[[Tunnel, Node], None]
    modules: tuple[Module, ...] = ()


def nothing(tunnel: Tunnel, node: Node) -> None:
    """Nothing has to be made or taken away."""


def add_routes(tunnel: Tunnel, node: Node) -> None:
    """Gives the node its inner address, and a route to each network that the policies take."""
    here = tunnel.context.above[node.name]
    nodad = ["nodad"] if here.family == 6 else []
    node.run("ip", "address", "add", here.cidr, "dev", here.interface, *nodad)
    for network, source in _routes(tunnel, node):
        of_its_own = ("src", source, "mtu", str(here.mtu))
        node.run("ip", "route", "add", network, "dev", here.interface, *of_its_own)


def del_routes(tunnel: Tunnel, node: Node) -> None:
    """Takes routes and address away."""
    here = tunnel.context.above[node.name]
    for network, _ in _routes(tunnel, node):
        node.try_run("ip", "route", "del", network, "dev", here.interface)
    node.try_run("ip", "address", "del", here.cidr, "dev", here.interface)


def _routes(tunnel: Tunnel, node: Node) -> Iterator[tuple[str, str]]:
    """Each network that the policies take, and the node's own address from which they take packets to it."""
    sources: dict[str, str] = {}
    for one in connections(tunnel, node):
        # The first is the node's own; others are of endpoints that it passes packets on for.
        sources.setdefault(one.remote, one.local)
    for remote, local in sources.items():
        # An endpoint has the first address of the network behind it.
        yield remote, str(next(iter(ip_network(local).hosts())))


def add_vti(tunnel: Tunnel, node: Node) -> None:
    """Makes a VTI: it marks packets, and the policies ask for the mark; of several peers they say which it is for."""
    kind = "vti6" if tunnel.context.outer == 6 else "vti"
    if len(tunnel.context.peers(node)) == 1:
        kernel_links.point_to_point(tunnel, node, kind, "key", str(MARK))
        return
    interface, here = tunnel.context.above[node.name].interface, tunnel.context.below[node.name].local
    node.run("ip", "link", "add", interface, "type", kind, "local", here, "key", str(MARK))
    tunnel.settle(node)


def add_xfrm(tunnel: Tunnel, node: Node) -> None:
    """Makes an XFRM interface: the policies and SAs with its ID belong to it."""
    interface, below = tunnel.context.above[node.name].interface, tunnel.context.below[node.name].interface
    node.run("ip", "link", "add", interface, "type", "xfrm", "dev", below, "if_id", str(MARK))
    tunnel.settle(node)


def del_interface(tunnel: Tunnel, node: Node) -> None:
    """Deletes the interface."""
    node.try_run("ip", "link", "del", tunnel.context.above[node.name].interface)


VTI = (
    Module(
        "ip_vti",
        f"ip link add probe type vti {kernel_modules.OVER_IPV4} key 1",
        outer=(4,),
        fallback_devices=("ip_vti0",),
    ),
    Module(
        "ip6_vti",
        f"ip link add probe type vti6 {kernel_modules.OVER_IPV6} key 1",
        outer=(6,),
        fallback_devices=("ip6_vti0", *kernel_modules.IP6_TUNNEL.fallback_devices),
    ),
)
XFRM = Module("xfrm_interface", "ip link add under type veth && ip link add probe type xfrm dev under if_id 1")

MODES = {
    # Policies for the two inner addresses, which the interface below has besides its own, and for hosts behind them.
    "tunnel": Mode("tunnel", False, add_routes, del_routes),
    # Policies for the two addresses below.
    "transport": Mode("transport", False, nothing, nothing),
    # Policies for everything, with the mark that the interface gives to packets.
    "vti": Mode("tunnel", True, add_vti, del_interface, VTI),
    # Policies for everything, with the ID of the interface.
    "xfrm": Mode("tunnel", True, add_xfrm, del_interface, (XFRM,)),
}
"""By the name of the option; the first is the default."""


def connections(tunnel: Tunnel, node: Node) -> list[Connection]:
    """What is negotiated with each peer of a node, and the traffic that the policies take.

    A connection has one network on each side: IKEv1 negotiates no more.
    """
    return [one for peer in tunnel.context.peers(node) for one in _with_peer(tunnel, node, peer)]


def _with_peer(tunnel: Tunnel, node: Node, peer: str) -> list[Connection]:
    context = tunnel.context
    ours, theirs = context.reached(node.name, peer), context.reached(peer, node.name)
    if len(context.above) > 2:
        # An interface with several peers finds the right one by what their policies take.
        return [Connection(f"{peer}-{number}", peer, *two) for number, two in enumerate(product(ours, theirs), start=1)]
    if MODES[str(tunnel.options["mode"])].interface:
        everything = EVERYTHING[context.above[node.name].family]
        return [Connection(ENDPOINTS, peer, everything, everything)]
    return [Connection(name, peer, *two) for name, *two in zip((ENDPOINTS, HOSTS), ours, theirs, strict=False)]
