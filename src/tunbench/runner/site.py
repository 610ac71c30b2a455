"""The laboratory that stands while a shard lives: its nodes, the underlay, and the stack over it."""

from collections.abc import Mapping
from typing import NamedTuple

from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.topology import Pair
from tunbench.runner.network.underlay import Underlay, lans
from tunbench.runner.node.node import Node
from tunbench.runner.stack import Stack


class Site(NamedTuple):
    """Its nodes by name, the underlay, the stack over it, and the seed of the shard."""

    nodes: Mapping[str, Node]
    underlay: Underlay
    stack: Stack
    seed: int = 0

    @property
    def endpoints(self) -> list[Node]:
        """The nodes that the stack joins."""
        return [self.nodes[name] for name in self.underlay.endpoints]

    @property
    def members(self) -> list[Node]:
        """The nodes on which the stack acts: those with a role first, then the endpoints."""
        return [*(self.nodes[name] for name in self.underlay.roles), *self.endpoints]

    @property
    def ends(self) -> list[Node]:
        """The endpoints, and the hosts behind them."""
        return [*self.endpoints, *self.hosts]

    @property
    def hosts(self) -> list[Node]:
        """The hosts behind the endpoints."""
        return [self.nodes[name] for name in self.underlay.topology.hosts.values()]

    def with_made(self) -> "Site":
        """The same, with the nodes that the stack has made within endpoints."""
        return self._replace(nodes={**self.nodes, **self.stack.layers[-1].made})

    @property
    def pair(self) -> Pair:
        """The first pair of nodes between which workloads run."""
        return self.underlay.topology.pairs[0]

    @property
    def overlays(self) -> dict[str, Overlay]:
        """What each node has between which workloads run: what the stack yields, on endpoints and within them, and the
        network behind an endpoint.
        """
        return {
            **self.stack.overlay,
            **self.stack.layers[-1].inside(),
            **{lan.host: lan.there for lan in lans(self.underlay.topology, self.stack.overlay).values()},
        }
