"""What takes a tunnel down, and brings it back, on one node of a laboratory that goes on."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from ipaddress import ip_address, ip_interface, ip_network
from itertools import product

from tunbench.runner import stack
from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.network import impairment
from tunbench.runner.node.json_output import tables
from tunbench.runner.node.node import Node
from tunbench.runner.site import Site
from tunbench.runner.tunnel import Tunnel
from tunbench.runner.workload import now
from tunbench.runner.workloads.shared.output_bounds import LAST_WORDS

LAST_RESORT = "metric 9999"
"""A route that is used where there is no other one to the same network."""

OTHER_ADDRESS_OFFSET = 100
"""What is added to the last part of an address to have another one of its network."""

FOLDERS = {"node-run": "/run", "node-tmp": "/tmp"}
"""What is empty after a reboot: a node's own file systems in memory, by their name. /var/lib outlives one."""

# Only where it is the node's own: elsewhere it would be the machine's.
EMPTY_FOLDER = 'if grep -q "^$0 $1 tmpfs" /proc/mounts; then find "$1" -xdev -mindepth 1 -delete; fi'


def bare(site: Site) -> bool:
    """Whether there is no tunnel."""
    return all(above == site.underlay.endpoints for above in site.stack.overlays)


def check_that_nothing_leaks(site: Site) -> None:
    """Raises Unsupported where probes would not show it that a layer is away.

    They would be answered in the clear, or the nodes between which they run are not those on which the layer runs.
    """
    if site.underlay.topology.hosts:
        raise Unsupported("it acts on the two nodes between which it probes, and here these are hosts behind endpoints")
    for layer in [] if bare(site) else site.stack.layers:
        if leaks(site, layer):
            raise Unsupported(
                f"{layer.about.name} has no interface of its own here: while its policies are away, packets pass in the"
                " clear and are answered"
            )


def check_that_netem_stays(site: Site) -> None:
    """Raises Unsupported where the profile sits on an interface that goes with the tunnel."""
    for node in site.endpoints:
        own = site.stack.overlay[node.name].interface
        if own != site.underlay.endpoints[node.name].interface and impairment.installed(node, own):
            raise Unsupported("the profile's netem is on the tunnel's interface (placement overlay), and goes with it")


def check_that_it_moves(site: Site, node: Node) -> None:
    """Raises Unsupported where a node has its address by a translator of its own, which no program here starts anew."""
    if any(one.from_ipv6 for one in site.underlay.gateways.get(node.name, ())):
        raise Unsupported(
            f"{node.name} has its address of IPv4 from a translator of its own (nat64), which would be gone: give it "
            "another access, or take the event away"
        )


def leaks(site: Site, layer: Tunnel) -> bool:
    """Whether packets reach the other end without the layer while that is down."""
    first, second = (node.name for node in site.endpoints[:2])
    position, below, above = layer.context.position, layer.context.below, layer.context.above
    if above[first].interface != below[first].interface:
        return False
    # A router between the endpoints knows no way to addresses of the overlay.
    return above[second].address == below[second].address or position > 0 or site.underlay.middle != "router"


@contextmanager
def closed(site: Site) -> Iterator[None]:
    """While it lasts, packets for an overlay that is away do not take the way to the rest of the world."""
    first, second = site.endpoints[:2]
    overlay, there = site.stack.overlay[first.name], site.stack.overlay[second.name]
    shared = overlay.interface == site.underlay.endpoints[first.name].interface
    inside = ip_interface(there.cidr).network
    with _unreachable(first, f"{inside}") if shared and not bare(site) else nullcontext():
        yield


def restart(site: Site, node: Node) -> None:
    """Takes the stack down on one node and brings it up there again. Raises CommandFailed, StackFailed."""
    stack.lower(site.stack.layers, [node])
    bring_up(site, node)


def leave(site: Site, node: Node) -> None:
    """Takes the stack down on one node, which then belongs to it no longer. Raises CommandFailed."""
    stack.lower(site.stack.layers, [node])
    for layer in site.stack.layers:
        layer.leave(node, stack.of_layer(layer, site.members))


def bring_up(site: Site, *rising: Node) -> None:
    """Brings the stack up on some nodes: each layer but the uppermost must answer before the next one begins.

    Through that each of them speaks first, where nothing reaches it before.
    """

    def wait(layer: Tunnel, overlay: object) -> None:
        above, closed = layer.context.above, site.stack.closed
        if layer is not site.stack.layers[-1]:
            stack.wait_for_answers(layer, above, site.endpoints, closed)
        else:
            for node, peer in product(rising, site.endpoints):
                if peer is not node:
                    stack.speak_first(node, above, peer.name, closed)

    stack.lift(site.stack, site.members, wait, rising=rising)


def cut(site: Site, node: Node, seconds: float) -> float:
    """Takes down the interface that leads to a node, and sets it up again; returns for how long it was down.

    Both ends keep what they know of each other's link-layer addresses. Else they ask at once, and an answer that comes
    before the other end has seen its carrier is lost: the question is repeated only after a second (RFC 1122, 2.3.2.1).
    """
    middle, interface = site.nodes[site.underlay.middle], site.underlay.towards[node.name].name
    # With a gateway before the node the link of the access is cut; with a carrier, the wire from there to the router.
    name, leaf = site.underlay.outermost(node.name)
    beyond = site.underlay.routed(node.name)
    if leaf.family == 6:
        # Addresses of IPv4 stay with an interface that is down.
        middle.run("sysctl", "-qw", f"net.ipv6.conf.{interface}.keep_addr_on_down=1")
    # Without its network the router would send by its default route, and get it back from there.
    routed = site.underlay.middle == "router"
    there = _link_address(site.nodes[name], leaf.interface) if routed else ""
    networks = [f"{ip_interface(leaf.cidr).network}", *(one.network for one in beyond)] if routed else []
    with ExitStack() as gone, _remembering(site.nodes[name], leaf.interface):
        for network in networks:
            gone.enter_context(_unreachable(middle, network))
        middle.run("ip", "link", "set", interface, "down")
        began = now()
        try:
            middle.run("sleep", f"{seconds:g}", timeout=seconds + 10)
        finally:
            known = f"neighbour replace {leaf.address} lladdr {there} dev {interface} nud reachable"
            routes = [f"route replace {one.network} via {one.outside.address}" for one in beyond]
            middle.ip(f"link set {interface} up", *([known] if there else []), *routes)
        return now() - began


def _link_address(node: Node, interface: str) -> str:
    return node.ask("cat", f"/sys/class/net/{interface}/address").stdout.strip()


@contextmanager
def _remembering(node: Node, interface: str) -> Iterator[None]:
    """While it lasts, a node forgets no neighbour when its carrier goes."""
    listed = tables(node.ask("ip", "-j", "neighbour", "show", "dev", interface).stdout, "ip")
    known = [f"{one.get('dst')} lladdr {one['lladdr']} dev {interface} nud" for one in listed if one.get("lladdr")]
    if known:
        node.ip(*(f"neighbour replace {one} permanent" for one in known))
    yield
    if known:
        node.ip(*(f"neighbour replace {one} reachable" for one in known))


def other_address(leaf: Overlay) -> Overlay:
    """Another address of the same network.

    Behind a NAT that hides ports others go on to reach the node where they did. Behind one-to-one they do not: it leads
    to the address that the node has left.
    """
    mark = ":" if leaf.family == 6 else "."
    head, _, last = leaf.local.rpartition(mark)
    other = f"{head}{mark}{int(last) + OTHER_ADDRESS_OFFSET}"
    return leaf._replace(own=other) if leaf.own else leaf._replace(address=other)


def move(node: Node, old: Overlay, new: Overlay) -> None:
    """Gives the node another address in the underlay, and takes the old one away; its default route stays."""
    gateway = _gateway(node, old)
    node.ip(
        # The route goes with its only address.
        f"address del {old.cidr} dev {old.interface}",
        f"address add {new.address_words}",
        f"route replace default via {gateway}",
    )


def reboot(site: Site, node: Node) -> None:
    """Lets a node lose all but its files, without a word of farewell, and come back. Raises CommandFailed."""
    rejoin(site, node, go_down(site, node))
    bring_up(site, node)


def go_down(site: Site, node: Node) -> str:
    """Lets a node lose all but its files, without a word of farewell; returns its gateway. Raises CommandFailed."""
    leaf = site.underlay.endpoints[node.name]
    gateway = _gateway(node, leaf)
    # Nobody hears of what follows.
    node.ip(f"link set {leaf.interface} down")
    _lose(site, node)
    node.ip("xfrm state flush", "xfrm policy flush", f"address flush dev {leaf.interface}")
    node.try_run("nft", "flush", "ruleset")
    forget([node])
    return gateway


def _lose(site: Site, node: Node) -> None:
    """Takes all processes of a node, what they have in memory, and the stack. Raises CommandFailed."""
    node.kill_all()
    for layer in site.stack.layers:
        for daemon in layer.daemons.pop(node.name, []):
            daemon.kill()
    for name, folder in FOLDERS.items():
        node.ask("sh", "-c", EMPTY_FOLDER, name, folder)
    stack.lower(site.stack.layers, [node])


def lose_state(site: Site, node: Node) -> None:
    """Lets the stack begin anew on a node that says nothing of it, neither in its farewell nor when it is back.

    Its programs are killed and started as they are: what joins a node with others is left out, as is the echo request
    by which one speaks first. Raises CommandFailed, StackFailed.
    """
    _lose(site, node)
    stack.start_alone(site.stack, site.members, node)


def rejoin(site: Site, node: Node, gateway: str) -> None:
    """Gives a node that was down its network back. Raises CommandFailed."""
    leaf = site.underlay.endpoints[node.name]
    node.ip(
        f"link set {leaf.interface} up",
        f"address add {leaf.address_words}",
        f"route replace default via {gateway}",
    )


def forget(nodes: list[Node]) -> None:
    """Empties the kernel's memory of neighbours, of path MTUs and of TCP's peers."""
    for node in nodes:
        for family in ("-4", "-6"):
            node.try_run("ip", family, "neighbour", "flush", "all")
            node.try_run("ip", family, "route", "flush", "cache")
        node.try_run("ip", "tcp_metrics", "flush", "all")


def _gateway(node: Node, leaf: Overlay) -> str:
    """Where the default route of a node leads. Raises WorkloadFailed."""
    return gateway_of(node.ask("ip", "-j", f"-{leaf.family}", "route", "show", "default").stdout)


def gateway_of(text: str) -> str:
    """The gateway of the first route that `ip -j route show` printed. Raises WorkloadFailed."""
    routes = tables(text, "ip")
    try:
        return str(ip_address(routes[0]["gateway"]))
    except (LookupError, ValueError):
        raise WorkloadFailed(f"ip told no gateway: {text[-LAST_WORDS:]!r}") from None


@contextmanager
def _unreachable(node: Node, network: str) -> Iterator[None]:
    """A route of last resort for a network: it cannot be reached."""
    family = f"-{ip_network(network).version}"
    route = ("unreachable", network, *LAST_RESORT.split())
    node.run("ip", family, "route", "add", *route)
    try:
        yield
    finally:
        node.try_run("ip", family, "route", "del", *route)
