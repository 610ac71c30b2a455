"""What a stack claims of the packets below each of its layers, and where one sees them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

from tunbench.runner.declare import path
from tunbench.runner.declare.path import Path
from tunbench.runner.declare.topology import PLANE, Pair
from tunbench.runner.node.node import Node
from tunbench.runner.proof.capture import View
from tunbench.runner.proof.proof import Claim
from tunbench.runner.site import Site
from tunbench.runner.tunnel import Tunnel


def of_stack(site: Site, pair: Pair) -> list[Claim]:
    """What the capture below each layer shall show between a pair, the lowest first."""
    layers = site.stack.layers
    return [
        _claim(site, pair, index, opening, _hidden(layers[index:])) for index, opening in enumerate(views(site, pair))
    ]


def _claim(site: Site, pair: Pair, index: int, opening: View, hidden: bool) -> Claim:
    """The claim of a layer; where any of its paths will do, with the claims of the others."""
    layer = site.stack.layers[index]
    first, *instead = [
        Claim(
            layer.about.name,
            opening,
            way.evidence,
            other_traffic(layer, way),
            hidden,
            way.path,
            way.through,
            partial(_relay_view, site, way.through) if way.through else None,
        )
        for way in ways(layer, pair)
    ]
    return first._replace(instead=tuple(instead))


def _hidden(layers: Sequence[Tunnel]) -> bool:
    """Whether one of these layers claims confidentiality."""
    return any(layer.declared.claims.confidentiality for layer in layers)


class Way(NamedTuple):
    """A way of the packets of a layer between a pair, and the pcap filter that all of them pass where they are seen."""

    evidence: str
    path: str = ""
    through: str = ""


def ways(layer: Tunnel, pair: Pair) -> list[Way]:
    """The ways that packets of a layer may take between a pair: that which a plan demands, or all.

    What could go through another node must go from end to end, where the two are joined and no path is declared.
    """
    joined = pair.second in layer.context.topology.peers[pair.first]
    if not layer.declared.paths or not joined:
        usual = _evidence_between_any(layer)
        return [Way(_from_end_to_end(usual, layer, pair) if layer.declared.relays and joined else usual)]
    asked = path.demanded(layer.options)
    return [way for way in all_ways(layer, pair) if asked in ("", way.path)]


def all_ways(layer: Tunnel, pair: Pair) -> list[Way]:
    """The ways that a layer declares, whatever a plan demands."""
    return [_way(layer, pair, name, one) for name, one in layer.declared.paths.items()]


def _way(layer: Tunnel, pair: Pair, name: str, one: Path) -> Way:
    if not one.through:
        return Way(_from_end_to_end(_evidence_of(layer, one), layer, pair), name)
    relay = layer.context.roles[one.through].address
    return Way(f"{_evidence_of(layer, one)} and host {relay}", name, one.through)


def _evidence_of(layer: Tunnel, one: Path) -> str:
    """The pcap filter that every packet of a layer passes on a path, between whichever nodes."""
    if not one.evidence:
        return _evidence_between_any(layer)
    return _filter(layer, one.evidence)


def _filter(layer: Tunnel, text: str) -> str:
    """A pcap filter of a layer as it is declared, in its place."""
    return layer.filter_of(text, layer.options, layer.context.outer, layer.context.position)


def _from_end_to_end(evidence: str, layer: Tunnel, pair: Pair) -> str:
    first, second = (layer.context.below[name].address for name in (pair.first, pair.second))
    return f"{evidence} and host {first} and host {second}"


def other_traffic(layer: Tunnel, way: Way) -> str:
    """The pcap filter of what else may pass in the place of a layer; empty where there is nothing.

    It is what the layer carries between other nodes, as where a daemon finds out what size passes, what its programs
    say to each other, and what a node with a role sends and is sent: a control plane speaks when it likes.
    """
    usual = _evidence_between_any(layer)
    others = [usual] if way.evidence != usual and not way.through else []
    others += [_filter(layer, layer.declared.exchanges)] if layer.declared.exchanges else []
    others += [f"host {role.address}" for role in layer.context.roles.values()]
    others += [f"host {layer.context.below[PLANE].address}"] if layer.declared.pods else []
    return f"({' or '.join(f'({other})' for other in others)}) and not ({way.evidence})" if others else ""


def _evidence_between_any(layer: Tunnel) -> str:
    """The pcap filter that every packet of a layer passes in its place, between whichever nodes."""
    return layer.evidence(layer.options, layer.context.outer, layer.context.position)


@contextmanager
def _relay_view(site: Site, role: str) -> Iterator[tuple[Node, str]]:
    """Where one sees what a node with a role is sent, and sends."""
    yield site.nodes[role], site.underlay.roles[role].interface


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
