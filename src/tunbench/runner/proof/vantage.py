"""Where one sees the packets below a layer of a stack."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from tunbench.runner.declare.topology import Pair
from tunbench.runner.network.underlay import Underlay
from tunbench.runner.node.node import Node
from tunbench.runner.stack import Stack
from tunbench.runner.workload import View


@contextmanager
def view(
    stack: Stack, index: int, underlay: Underlay, nodes: Mapping[str, Node], pair: Pair | None = None
) -> Iterator[tuple[Node, str]]:
    """The node and the interface on which one sees what the layer at that index sends and receives for a pair.

    For the lowest layer that is between the nodes, for the others what the layer below carries, on the first endpoint.
    """
    pair = pair or underlay.topology.pairs[0]
    if index == 0:
        yield nodes[underlay.middle], underlay.towards[pair.second]
        return
    node = nodes[pair.first]
    with stack.layers[index - 1].watched(node) as carried, stack.layers[index].beneath(node, carried) as interface:
        yield node, interface


def views(stack: Stack, underlay: Underlay, nodes: Mapping[str, Node], pair: Pair | None = None) -> list[View]:
    """The views of all layers, the lowest first."""
    return [partial(view, stack, index, underlay, nodes, pair) for index in range(len(stack.layers))]
