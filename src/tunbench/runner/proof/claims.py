"""What a stack claims of the packets below each of its layers, and where one sees them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from tunbench.runner.declare.topology import Pair
from tunbench.runner.node.node import Node
from tunbench.runner.proof.capture import View
from tunbench.runner.proof.proof import Claim
from tunbench.runner.site import Site
from tunbench.runner.tunnel import Tunnel


def of_stack(site: Site, pair: Pair) -> list[Claim]:
    """What the capture below each layer shall show between a pair, the lowest first."""
    layers = site.stack.layers
    return [
        Claim(layer.about.name, opening, evidence_of(layer, pair), other_traffic(layer, pair), _hidden(layers[index:]))
        for index, (layer, opening) in enumerate(zip(layers, views(site, pair), strict=True))
    ]


def _hidden(layers: Sequence[Tunnel]) -> bool:
    """Whether one of these layers claims confidentiality."""
    return any(layer.declared.claims.confidentiality for layer in layers)


def evidence_of(layer: Tunnel, pair: Pair) -> str:
    """The pcap filter that every packet of a layer passes in its place, on its way between a pair.

    What could go through another node must go from end to end, where the two are joined.
    """
    evidence = _evidence_between_any(layer)
    context = layer.context
    if not layer.declared.relays or pair.second not in context.topology.peers[pair.first]:
        return evidence
    first, second = (context.below[name].address for name in (pair.first, pair.second))
    return f"{evidence} and host {first} and host {second}"


def other_traffic(layer: Tunnel, pair: Pair) -> str:
    """The pcap filter of what else may pass in the place of a layer; empty where there is nothing.

    It is what the layer carries between other nodes, as where a daemon finds out what size passes, and what a node with
    a role sends and is sent: a control plane speaks when it likes.
    """
    wanted, usual = evidence_of(layer, pair), _evidence_between_any(layer)
    others = [usual] if wanted != usual else []
    others += [f"host {role.address}" for role in layer.context.roles.values()]
    return f"({' or '.join(f'({other})' for other in others)}) and not ({wanted})" if others else ""


def _evidence_between_any(layer: Tunnel) -> str:
    """The pcap filter that every packet of a layer passes in its place, between whichever nodes."""
    return layer.evidence(layer.options, layer.context.outer, layer.context.position)


@contextmanager
def view(site: Site, index: int, pair: Pair) -> Iterator[tuple[Node, str]]:
    """The node and the interface on which one sees what the layer at that index sends and receives for a pair.

    For the lowest layer that is on the way to the second endpoint; for the others it is what the layer below carries,
    on the first endpoint.
    """
    if index == 0:
        towards = site.underlay.towards[pair.second]
        yield site.nodes[towards.node], towards.name
        return
    node, layers = site.nodes[pair.first], site.stack.layers
    with layers[index - 1].watched(node) as carried, layers[index].beneath(node, carried) as interface:
        yield node, interface


def views(site: Site, pair: Pair) -> list[View]:
    """The views of all layers, the lowest first."""
    return [partial(view, site, index, pair) for index in range(len(site.stack.layers))]
