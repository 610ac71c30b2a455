"""Reads the topologies of a plan, and says which stacks can join their endpoints."""

from tunbench.plan.places import shown
from tunbench.runner import spelling, topology
from tunbench.runner.stack import declared


def read_topology(value: object) -> str:
    """The canonical spelling of a topology that is known. Raises ValueError."""
    if not isinstance(value, str):
        raise ValueError(f'{shown(value)} is not a topology: write its spelling in quotes, such as "mesh:nodes=4"')
    topology.read(value)
    return str(spelling.part(value))


def misfit(stack: str, text: str) -> str:
    """Why a stack cannot join the endpoints of a topology; empty where it can."""
    shape = topology.read(text)
    abouts = [declared(layer) for layer in spelling.stack(stack)]
    for about in abouts:
        if 0 < about.joins < len(shape.endpoints):
            return f"{about.name} joins {about.joins} endpoints, and {text} has {len(shape.endpoints)}"
    if (shape.hosts or shape.hub) and not abouts[-1].routes:
        behind = "hosts behind its endpoints" if shape.hosts else "spokes behind its hub"
        return f"{stack} carries no packets of other nodes than its endpoints, and {text} has {behind}"
    return ""
