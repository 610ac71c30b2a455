"""New keys while packets pass: which layer of a stack gets some, on which node, and whether they came."""

from collections.abc import Sequence
from contextlib import suppress

from tunbench.runner import registry
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.tunnel import About
from tunbench.runner.node.node import Node
from tunbench.runner.site import Site
from tunbench.runner.tunnel import Tunnel


def misfit(abouts: Sequence[About]) -> str:
    """Why a stack of such layers gets no new keys while packets pass; empty where one of them does."""
    if any(about.rekeys_within for about in abouts):
        return ""
    return f"it gets no new keys while packets pass; those that do: {', '.join(_known())}"


def _known() -> list[str]:
    """The spellings of all tunnels that get new keys."""
    found = []
    for name in registry.tunnel_names():
        # A file with a mistake is told to those who ask for it.
        with suppress(Exception):
            found.append(registry.tunnel(name).about.rekeys)
    return [one for one in found if one]


def seen(site: Site) -> str:
    """What changes with the keys of the node that gets new ones."""
    return _layer(site).keys(_node(site))


def renew(site: Site) -> None:
    """Lets the second endpoint get new keys, or waits for its timer. Raises CommandFailed, StackFailed."""
    _layer(site).rekey(_node(site))


def check(site: Site, before: str) -> None:
    """Raises WorkloadFailed where the keys are those that were seen before."""
    if seen(site) == before:
        layer = _layer(site)
        within = layer.declared.rekeys_within
        raise WorkloadFailed(f"{layer.about.name} had no new keys on {_node(site).name} within {within:g} s")


def _layer(site: Site) -> Tunnel:
    """The uppermost layer that gets new keys."""
    return next(layer for layer in reversed(site.stack.layers) if layer.declared.rekeys_within)


def _node(site: Site) -> Node:
    return site.nodes[site.pair.second]
