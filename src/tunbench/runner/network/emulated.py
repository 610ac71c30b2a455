"""A network that is made for a shard: nodes are namespaces of one kernel, and links are pairs of virtual Ethernet."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

from tunbench.runner.declare.access import Accesses
from tunbench.runner.declare.link import Link
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.topology import Topology
from tunbench.runner.network import links, underlay, wires
from tunbench.runner.network.access import edge, gateways, nat64
from tunbench.runner.network.network import Nodes
from tunbench.runner.network.underlay import Underlay
from tunbench.runner.node import memory_watch, namespaces, pinning
from tunbench.runner.node.events import Events
from tunbench.runner.node.shell import Shell


class EmulatedNetwork:
    """A network on the machine of a shell.

    `cores` are those that it may use: where there are enough, each node that packets pass has one to itself.
    """

    def __init__(self, shell: Shell, cores: Collection[int] = ()) -> None:
        self.shell = shell
        self.cores = cores

    def lay_out(
        self,
        kind: str,
        topology: Topology,
        link: Link,
        roles: Collection[str],
        accesses: Accesses,
        of_global_scope: bool = False,
    ) -> Underlay:
        """Nodes around a router or a bridge, gateways before some, and an edge for what goes astray."""
        return underlay.of(kind, topology, link, roles, accesses, of_global_scope)

    @contextmanager
    def nodes(self, underlay: Underlay, events: Events) -> Iterator[Nodes]:
        """Makes the nodes, each on its core; they vanish on leaving. Raises CommandFailed."""
        pins = pinning.pins(underlay.passed, self.cores)
        if pins:
            events.tell("pinned", nodes=dict(pins.nodes), rest=list(pins.rest))
        with (
            pinning.kept_to(pins.rest if pins else ()),
            namespaces.running_nodes(underlay.names, underlay.name_server, self.shell, events, pins) as nodes,
            memory_watch.watched(nodes.values()),
        ):
            yield nodes

    def connect(self, underlay: Underlay, nodes: Nodes, events: Events) -> None:
        """Makes the links. Raises Unsupported, CommandFailed."""
        links.build(underlay, nodes)
        wires.build(underlay, nodes, events)
        gateways.build(underlay, nodes)
        nat64.build(underlay, nodes, events)

    def connect_hosts(self, underlay: Underlay, overlay: Mapping[str, Overlay], nodes: Nodes) -> None:
        """Makes the links to the hosts behind endpoints. Raises CommandFailed."""
        links.join(underlay, overlay, nodes)

    def watched(self, nodes: Nodes, events: Events) -> AbstractContextManager[None]:
        """Watches the edge, where everything arrives that no node answers for."""
        return edge.watched(nodes[underlay.EDGE], events)
