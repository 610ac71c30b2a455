"""Builds what shards need and is not there: images from Debian's packages, tools from their registries."""

from collections.abc import Callable

from tunbench.labs.image import ImageError
from tunbench.labs.vm import image_build
from tunbench.labs.vm.image_definition import ADDONS, BASE, Definition
from tunbench.run.order import Order
from tunbench.toolbox import build_requirements
from tunbench.toolbox import install as installing
from tunbench.toolbox.command import ToolError
from tunbench.toolbox.tools import TOOLS, Tool

Progress = Callable[[str], None]

Needed = Definition | Tool
"""An image or a tool, which can be built."""


def lacking(order: Order) -> list[Needed]:
    """The images and tools that the shards of an order need, and that are not there, in the order of building.

    Raises LabError and ImageError where building would not help.
    """
    tools = [TOOLS[name] for name in order.toolbox.tools]
    return [*_images(order), *(tool for tool in tools if not tool.installed)]


def _images(order: Order) -> list[Definition]:
    """The images that are not there, where the lab cannot do without."""
    try:
        order.lab.check({shard.stack for shard in order.shards}, {shard.machine for shard in order.shards})
    except ImageError:
        names = {name for shard in order.shards for name in shard.stack.addons}
        images = [BASE, *(ADDONS[name] for name in sorted(names))]
        if missing := [one for one in images if not (one.folder / "manifest.json").exists()]:
            return missing
        raise
    return []


def check(needed: list[Needed]) -> None:
    """Raises ToolError where this machine lacks what building the tools takes, before anything is built."""
    # The base image is asked for as well, which may be about to be built.
    tools = [one for one in needed if isinstance(one, Tool)]
    if BASE not in needed and (missing := build_requirements.missing(tools)):
        raise ToolError("\n".join(missing))


def build(one: Needed, progress: Progress) -> None:
    """Builds one of them. Raises ImageError and ToolError."""
    if isinstance(one, Tool):
        installing.install(one, progress)
    else:
        image_build.build(one, progress)
