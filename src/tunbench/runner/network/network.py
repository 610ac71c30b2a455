"""The nodes of a shard and what joins them: the one thing in its life that a kind of lab does in its own way.

A lab of real hosts hands a network of its own to `shard.live`. Its nodes are there already, each with a shell that
reaches its host; it lays out the addresses that those hosts have, and there is nothing to connect.
"""

from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from tunbench.runner.declare.access import Accesses
from tunbench.runner.declare.link import Link
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.topology import Topology
from tunbench.runner.network.underlay import Underlay
from tunbench.runner.node.events import Events
from tunbench.runner.node.node import Node

Nodes = Mapping[str, Node]
"""All nodes of a shard, by their names."""


class Network(Protocol):
    """What a lab has of nodes and links. Its methods are called in this order."""

    def lay_out(
        self,
        kind: str,
        topology: Topology,
        link: Link,
        roles: Collection[str],
        accesses: Accesses,
        of_global_scope: bool = False,
    ) -> Underlay:
        """The nodes and their addresses over an underlay of that kind, as data: nothing is made.

        `link` joins each endpoint to the network, or to the gateway that `accesses` puts before it, and `roles` are
        those of the nodes besides endpoints. `of_global_scope`: whether addresses must be such as the Internet has.
        """

    def nodes(self, underlay: Underlay, events: Events) -> AbstractContextManager[Nodes]:
        """The nodes; when they are left, all has ended that the runner started on them. Raises CommandFailed."""

    def connect(self, underlay: Underlay, nodes: Nodes, events: Events) -> None:
        """Links the nodes of an underlay. Raises Unsupported, CommandFailed."""

    def connect_hosts(self, underlay: Underlay, overlay: Mapping[str, Overlay], nodes: Nodes) -> None:
        """Links the hosts behind endpoints with them, where what the stack yields goes on to them.

        It comes after the endpoints have been tuned. Raises CommandFailed.
        """

    def watched(self, nodes: Nodes, events: Events) -> AbstractContextManager[None]:
        """Tells, when it is left, what has left the lab meanwhile, as far as the network sees that."""
