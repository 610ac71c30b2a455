"""A stack: its layers, brought up from the underlay and taken down in reverse."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ipaddress import ip_address, ip_interface
from types import MappingProxyType
from typing import NamedTuple

from tunbench.runner import registry
from tunbench.runner.declare import spelling
from tunbench.runner.declare.failures import StackFailed, Unsupported
from tunbench.runner.declare.kernel_module import Module
from tunbench.runner.declare.options import Options, resolve
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.topology import PAIR, Topology
from tunbench.runner.declare.tunnel import About, Needs, Sources
from tunbench.runner.network.underlay import lans
from tunbench.runner.node.command import CommandFailed
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import LayerContext, Nodes, Tunnel, ping

ANSWER_TIMEOUT = 50.0
"""Seconds of the lab's own time in which an overlay must answer: a verdict stands within a minute."""

UNKNOWN_DEVICE = "Unknown device type"
"""What iproute2 prints where the kernel has no such kind of interface."""


class Stack(NamedTuple):
    """The layers of a stack with what they run over: `overlays[i]` is below `layers[i]`, the last is the result.

    Nothing reaches those of the endpoints that are `closed` before they have spoken.
    """

    spelling: str
    layers: list[Tunnel]
    overlays: list[Mapping[str, Overlay]]
    closed: Collection[str] = ()

    @property
    def overlay(self) -> Mapping[str, Overlay]:
        """What the whole stack yields on each endpoint."""
        return self.overlays[-1]


def roles(text: str) -> list[str]:
    """The roles that the layers of a stack need besides endpoints. Raises ValueError."""
    return list(dict.fromkeys(role for part in spelling.stack(text) for role in declared(part).roles))


def of_global_scope(text: str) -> bool:
    """Whether a layer of a stack needs addresses of global scope below it. Raises ValueError."""
    return any(declared(part).global_scope for part in spelling.stack(text))


def build(
    text: str,
    underlay: Mapping[str, Overlay],
    topology: Topology = PAIR,
    beside: Mapping[str, Overlay] = MappingProxyType({}),
    closed: Collection[str] = (),
    asking: Collection[str] = (),
) -> Stack:
    """The layers of a stack over the endpoints of an underlay, with the nodes beside them that have a role.

    The lowest layer may ask the gateways of those of `asking` for an open port. Nothing is started. Raises ValueError.
    """
    layers: list[Tunnel] = []
    overlays = [underlay]
    parts = spelling.stack(text)
    for index, part in enumerate(parts):
        kind, options = read(part)
        below = overlays[-1]
        yields = kind.yields(options, index, below)
        behind = lans(topology, yields) if index == len(parts) - 1 else {}
        beyond = {name: lan.network for name, lan in behind.items()}
        # What runs over another layer has no gateway before it.
        may_ask = asking if index == 0 else ()
        taken = [port.format(**layer.options) for layer in layers for port in layer.declared.ports]
        layers.append(kind(options, LayerContext(index, below, yields, topology, beyond, beside, may_ask, taken)))
        overlays.append(yields)
    return Stack(text, layers, overlays, closed)


def read(part: spelling.Part) -> tuple[type[Tunnel], Options]:
    """The tunnel of a layer, and the value of each of its options. Raises ValueError."""
    kind = registry.tunnel(part.name)
    if "path" in part.options and not kind.about.paths:
        raise ValueError(f"{part.name}: its packets go from end to end, and no relay carries them: take path away")
    return kind, resolve(kind.takes(), part.options, part.name)


def declared(part: spelling.Part) -> About:
    """What a layer declares under its options. Raises ValueError."""
    kind, options = read(part)
    return kind.with_options(options)


def prepare(stack: Stack, nodes: Sequence[Node]) -> None:
    """Makes keys and configuration of every layer. Raises CommandFailed, and Unsupported where a program is missing."""
    for layer in stack.layers:
        needs = layer.declared.needs
        for program in dict.fromkeys((*needs.programs, *needs.brought)):
            require(nodes[0], program, needs, layer.declared.sources, f"docs/tunnels.md#{layer.about.name}")
        layer.prepare(of_layer(layer, nodes))


def fallback_devices(stack: Stack) -> set[str]:
    """The interfaces that the kernel makes on its own in every namespace for the modules that the layers need."""
    modules = (module for layer in stack.layers for module in layer.declared.needs.modules)
    return {device for module in modules for device in module.fallback_devices}


def of_layer(layer: Tunnel, nodes: Sequence[Node]) -> dict[str, Node]:
    """The nodes on which a layer acts, by name: those whose role it needs, and the endpoints."""
    acts_on = {*layer.declared.roles, *layer.context.below}
    return {node.name: node for node in nodes if node.name in acts_on}


def require(node: Node, program: str, needs: Needs, sources: Sources, page: str) -> None:
    """Raises Unsupported where a program is not installed; `needs` has it, and `page` tells how to bring it."""
    if not node.has(program):
        raise Unsupported(_missing(program, needs, sources, page))


def _missing(program: str, needs: Needs, sources: Sources, page: str) -> str:
    """That a program is not installed, and the mend as far as there is one."""
    if program in needs.brought:
        return f"{program} is not installed ({page})"
    recipes = (recipe for recipe in sources.recipes if recipe.name in needs.tools)
    tools = [recipe.name for recipe in recipes if program in recipe.programs]
    package = sources.packages.get(program)
    install = f"tunbench toolbox install {tools[0]}" if tools else f"apt-get install {package}" if package else ""
    return f"the program {program} is not installed{'; install it with: ' * bool(install)}{install}"


Wait = Callable[[Tunnel, Mapping[str, Overlay]], None]
"""Waits until a layer answers, given what it yields; raises StackFailed where it does not."""


@contextmanager
def up(stack: Stack, nodes: Sequence[Node]) -> Iterator[None]:
    """Brings every layer up on every node, waits until it answers, and takes all down on leaving.

    Raises StackFailed, CommandFailed, and Unsupported where this lab lacks what a layer needs.
    """
    begun: list[Tunnel] = []
    try:
        lift(stack, nodes, lambda layer, overlay: wait_for_answers(layer, overlay, nodes, stack.closed), begun)
        yield
    finally:
        for node, route in routes(stack, nodes):
            node.try_run("ip", "route", "del", *route)
        lower(begun, nodes)


def lift(
    stack: Stack, nodes: Sequence[Node], wait: Wait, begun: list[Tunnel] | None = None, rising: Sequence[Node] = ()
) -> None:
    """Brings every layer up on these nodes, the lowest first, waits for each before the next begins, and adds routes.

    With `rising` it is some of them on which they come up, and they are up already on all others. `begun` gets each
    layer before anything of it is there. Raises StackFailed, CommandFailed and Unsupported.
    """
    rising = rising or nodes
    for layer, overlay in zip(stack.layers, stack.overlays[1:], strict=True):
        if begun is not None:
            begun.append(layer)
        _raise_layer(layer, of_layer(layer, nodes), of_layer(layer, rising))
        wait(layer, overlay)
    for node, route in routes(stack, rising):
        node.run("ip", "route", "replace", *route)


def start_alone(stack: Stack, nodes: Sequence[Node], node: Node) -> None:
    """Brings every layer up on one of these nodes, and leaves it to others to speak to it. Raises CommandFailed."""
    for layer in stack.layers:
        layer.up(node, of_layer(layer, nodes))
    for _, route in routes(stack, [node]):
        node.run("ip", "route", "replace", *route)


def lower(layers: Sequence[Tunnel], nodes: Sequence[Node]) -> None:
    """Takes layers down on these nodes, the uppermost first."""
    for layer in reversed(layers):
        for node in reversed(of_layer(layer, nodes).values()):
            layer.down(node)


def forget(stack: Stack, nodes: Sequence[Node]) -> None:
    """Takes away what the layers of a stack that is down have learnt on these nodes. Raises CommandFailed."""
    for layer in stack.layers:
        for node in of_layer(layer, nodes).values():
            layer.forget(node)


def restart(stack: Stack, nodes: Sequence[Node]) -> None:
    """Takes a stack down on all its nodes and brings it up again. Raises StackFailed, CommandFailed."""
    lower(stack.layers, nodes)
    lift(stack, nodes, lambda layer, overlay: wait_for_answers(layer, overlay, nodes, stack.closed))
    search(stack, nodes)


def routes(stack: Stack, nodes: Sequence[Node]) -> Iterator[tuple[Node, list[str]]]:
    """The routes to what the stack reaches behind each peer: hosts, and the other spokes of a hub."""
    context = stack.layers[-1].context
    for node in (node for node in nodes if node.name in context.above):
        here = context.above[node.name]
        for peer in context.peers(node):
            there = context.above[peer].address
            _, *behind = context.carries(node, peer)
            # Where a router stands between them it knows the way, and nothing is carried.
            if behind and ip_address(there) in ip_interface(here.cidr).network:
                yield from ((node, [network, "via", there, "dev", here.interface]) for network in behind)


def speak_first(node: Node, overlay: Mapping[str, Overlay], peer: str, closed: Collection[str]) -> None:
    """Sends one echo request from a node that nothing reaches before it has spoken."""
    if node.name in closed:
        # Its peer may be closed as well, and then does not hear it: that is no failure, of commands.sh neither.
        node.run("sh", "-c", '"$@" || true', "sh", *ping(overlay[node.name].interface, overlay[peer].address))


def search(stack: Stack, nodes: Sequence[Node]) -> None:
    """Waits until every layer has found the path that it goes on with, where any will do."""
    for layer in stack.layers:
        layer.searched(of_layer(layer, nodes))


def _raise_layer(layer: Tunnel, nodes: Nodes, rising: Nodes) -> None:
    try:
        for node in rising.values():
            layer.up(node, nodes)
        layer.joined(nodes)
    except CommandFailed as error:
        if UNKNOWN_DEVICE in error.result.stderr:
            raise _unsupported(layer.declared.needs.modules, error) from None
        raise
    except StackFailed as error:
        # A daemon that makes it itself tells that in words of its own.
        if unknown := _unknown_to_daemons(layer.declared.needs.modules, nodes[layer.context.first]):
            raise _unsupported(unknown, error) from None
        raise


def _unsupported(modules: Sequence[Module], error: Exception) -> Unsupported:
    names = ", ".join(module.name for module in modules)
    return Unsupported(f"this kernel cannot make its interface (module {names}): {error}")


def _unknown_to_daemons(modules: Sequence[Module], node: Node) -> list[Module]:
    """Those of which daemons make interfaces, and of which this kernel knows no kind."""
    return [one for one in modules if one.made_by_daemons and _unknown(one.made_by_daemons, node)]


def _unknown(kind: str, node: Node) -> bool:
    """Whether the kernel does not know such a kind of interface."""
    made = node.try_run("ip", "link", "add", "probe", "type", kind)
    node.try_run("ip", "link", "del", "probe")
    return UNKNOWN_DEVICE in made.stderr


def wait_for_answers(
    layer: Tunnel, overlay: Mapping[str, Overlay], nodes: Sequence[Node], closed: Collection[str] = ()
) -> None:
    """Waits until the first endpoint has an answer from every other one. Raises StackFailed."""
    first, *others = (node for node in nodes if node.name in overlay)
    for other in others:
        speak_first(other, overlay, first.name, closed)
        asking = ping(overlay[first.name].interface, overlay[other.name].address)
        layer.wait(first, *asking, timeout=ANSWER_TIMEOUT, what=f"{other.name} did not answer {first.name}")
