"""Which tunnels the vm lab can run with the images, tools and brought programs that there are."""

from collections.abc import Callable, Collection

from tunbench.labs.extras import images_beyond_base, programs_of
from tunbench.plan.axes.stack import parse
from tunbench.runner import registry


def tunnels(lacks: Callable[[str], bool], unusable: Collection[str] = ()) -> list[str]:
    """Those that need no image that `lacks`, and run no program that is `unusable`, with their defaults."""
    stacks = {name: parse(name) for name in registry.tunnel_names()}
    return [
        name
        for name, stack in stacks.items()
        if not any(map(lacks, images_beyond_base([stack]))) and programs_of(stack).isdisjoint(unusable)
    ]
