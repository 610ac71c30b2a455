"""How traffic gets into the SAs: the modes as data, and what each needs on a node."""

from collections.abc import Callable
from typing import NamedTuple

from tunbench.runner.declare.kernel_module import Module
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Tunnel
from tunbench.runner.tunnels.shared import kernel_links, kernel_modules

MARK = 42
"""What joins an interface and its policies: the key and mark of a VTI, the ID of an XFRM interface."""

EVERYTHING = {4: "0.0.0.0/0", 6: "::/0"}


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


def add_route(tunnel: Tunnel, node: Node) -> None:
    """Gives the node its inner address, and a route to that of its peer which says that it is the source."""
    [peer] = tunnel.context.peers(node)
    here, there = tunnel.context.above[node.name], tunnel.context.above[peer]
    nodad = ["nodad"] if here.family == 6 else []
    node.run("ip", "address", "add", here.cidr, "dev", here.interface, *nodad)
    source = ("src", here.address, "mtu", str(here.mtu))
    node.run("ip", "route", "add", there.cidr, "dev", here.interface, *source)


def del_route(tunnel: Tunnel, node: Node) -> None:
    """Takes route and address away."""
    [peer] = tunnel.context.peers(node)
    here, there = tunnel.context.above[node.name], tunnel.context.above[peer]
    node.try_run("ip", "route", "del", there.cidr, "dev", here.interface)
    node.try_run("ip", "address", "del", here.cidr, "dev", here.interface)


def add_vti(tunnel: Tunnel, node: Node) -> None:
    """Makes a VTI: it marks packets, and the policies ask for the mark."""
    kind = "vti6" if tunnel.context.outer == 6 else "vti"
    kernel_links.point_to_point(tunnel, node, kind, "key", str(MARK))


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
    # Policies for the two inner addresses, which the interface below has besides its own.
    "tunnel": Mode("tunnel", False, add_route, del_route),
    # Policies for the two addresses below.
    "transport": Mode("transport", False, nothing, nothing),
    # Policies for everything, with the mark that the interface gives to packets.
    "vti": Mode("tunnel", True, add_vti, del_interface, VTI),
    # Policies for everything, with the ID of the interface.
    "xfrm": Mode("tunnel", True, add_xfrm, del_interface, (XFRM,)),
}
"""By the name of the option; the first is the default."""


def selectors(tunnel: Tunnel, node: Node) -> tuple[str, str]:
    """The traffic that the policies take, from the node and from its peer, as networks."""
    [peer] = tunnel.context.peers(node)
    above = tunnel.context.above
    if MODES[str(tunnel.options["mode"])].interface:
        everything = EVERYTHING[above[node.name].family]
        return everything, everything
    width = 128 if above[node.name].family == 6 else 32
    return f"{above[node.name].address}/{width}", f"{above[peer].address}/{width}"
