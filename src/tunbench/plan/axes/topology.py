"""Reads the topologies of a plan, and says which stacks can join their endpoints."""

from functools import lru_cache

from tunbench.plan.toml.positions import shown
from tunbench.runner.declare import spelling, topology
from tunbench.runner.declare.options import resolve
from tunbench.runner.declare.topology import Topology
from tunbench.runner.stack import declared
from tunbench.runner.tunnel import About


def read_topology(value: object) -> str:
    """The canonical spelling of a topology that is known. Raises ValueError."""
    if not isinstance(value, str):
        raise ValueError(f'{shown(value)} is not a topology: write its spelling in quotes, such as "mesh:nodes=4"')
    part = spelling.part(value)
    if part.name not in topology.KINDS:
        shape(value)
    # A mesh of 250 has 31,125 pairs: they are not made before they are needed.
    resolve(topology.OPTIONS.get(part.name, {}), part.options, part.name)
    return str(part)


@lru_cache(maxsize=4)
def shape(text: str) -> Topology:
    """The topology of a spelling; it is asked for often, one after the other. Raises ValueError."""
    return topology.read(text)


def misfit(stack: str, text: str) -> str:
    """Why a stack cannot join the endpoints of a topology; empty where it can."""
    abouts = _abouts(stack)
    if abouts[-1].routes and not any(about.joins for about in abouts):
        return ""
    form = shape(text)
    for about in abouts:
        if 0 < about.joins < len(form.endpoints):
            return f"{about.name} joins {about.joins} endpoints, and {text} has {len(form.endpoints)}"
    if (form.hosts or form.hub) and not abouts[-1].routes:
        behind = "hosts behind its endpoints" if form.hosts else "spokes behind its hub"
        return f"{stack} carries no packets of other nodes than its endpoints, and {text} has {behind}"
    return ""


@lru_cache(maxsize=20_000)
def _abouts(stack: str) -> list[About]:
    """What the layers of a stack declare."""
    return [declared(layer) for layer in spelling.stack(stack)]
