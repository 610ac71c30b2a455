"""Reads the topologies of a plan, and says which stacks can join their endpoints."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tunbench.plan.axes.reader import AxisReader
from tunbench.plan.axes.stack import PlannedStack
from tunbench.plan.toml.mistakes import quoted
from tunbench.plan.toml.tables import alone
from tunbench.runner import registry
from tunbench.runner.declare import spelling, topology
from tunbench.runner.declare.options import resolve
from tunbench.runner.declare.topology import Topology

ENDPOINTS_A_GIB, MOST_GIB = 16, 6
"""Endpoints whose programs take a GiB together, and what they get at most: Tailscale's client takes up to 59 MB."""


@dataclass(frozen=True)
class Layout:
    """A topology as a plan spells it; its endpoints and pairs are made when they are asked for."""

    name: str

    @property
    def topology(self) -> Topology:
        """Endpoints and pairs: a mesh of 250 has 31,125 of them."""
        return _made(self.name)

    @property
    def memory(self) -> int:
        """What the programs of many endpoints take of a VM's memory beyond the usual, in GiB."""
        return min(len(self.topology.endpoints) // ENDPOINTS_A_GIB, MOST_GIB)

    def spec(self) -> str:
        """The topology as a shard names it."""
        return self.name


@lru_cache(maxsize=4)
def _made(text: str) -> Topology:
    """The topology of a spelling; shards ask for the same one, one after the other."""
    return topology.read(text)


def read_topologies(value: object) -> Iterator[Layout]:
    """The one topology that an entry of a plan spells. Raises ValueError."""
    if not isinstance(value, str):
        raise ValueError(f'{quoted(value)} is not a topology: write its spelling in quotes, such as "mesh:nodes=4"')
    part = spelling.part(value)
    if part.name not in topology.TOPOLOGY_KINDS:
        topology.read(value)
    resolve(topology.OPTIONS.get(part.name, {}), part.options, part.name)
    yield Layout(str(part))


def misfit(stack: PlannedStack, layout: Layout) -> str:
    """Why a stack cannot join the endpoints of a topology; empty where it can."""
    if reason := _misfit_of_pods(stack, layout):
        return reason
    routes = stack.abouts[-1].routes
    if (routes or layout.topology.pods) and not any(about.joins for about in stack.abouts):
        return ""
    made = layout.topology
    for about in stack.abouts:
        if 0 < about.joins < len(made.endpoints):
            return f"{about.name} joins {about.joins} endpoints, and {layout.name} has {len(made.endpoints)}"
    if (made.hosts or made.hub) and not routes:
        behind = "hosts behind its endpoints" if made.hosts else "spokes behind its hub"
        return f"{stack.name} carries no packets of other nodes than its endpoints, and {layout.name} has {behind}"
    return ""


def _misfit_of_pods(stack: PlannedStack, layout: Layout) -> str:
    """Whether there are pods in a topology and none in a stack, or the other way round."""
    top = stack.abouts[-1]
    if top.pods and not layout.topology.pods:
        return f"the endpoints of {top.name} are pods of a cluster, and {layout.name} is none"
    if layout.topology.pods and not top.pods:
        making = " or ".join(name for name in registry.tunnel_names() if registry.tunnel(name).about.pods)
        return f"traffic of {layout.name} goes from pod to pod, and {stack.name} makes none without {making} on top"
    return ""


READER = AxisReader('topology = "pair"', alone(read_topologies))
