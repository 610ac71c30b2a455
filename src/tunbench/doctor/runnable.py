"""Which tunnels the vm lab can run with the images, tools and brought programs that there are."""

from collections.abc import Callable

from tunbench.labs.extras import images_beyond_base
from tunbench.plan.axes.stack import parse
from tunbench.runner import registry


def tunnels(lacks: Callable[[str], bool]) -> list[str]:
    """Those that need nothing that `lacks`, with their defaults."""
    return [name for name in registry.tunnel_names() if not any(map(lacks, images_beyond_base([parse(name)])))]
