"""Builds what shards need and is not there, as their run had it: images from Debian's packages, and tools."""

from collections.abc import Callable, Mapping

from tunbench.labs import image
from tunbench.labs.image import ImageError
from tunbench.labs.unwritable import in_cache
from tunbench.labs.vm import image_build
from tunbench.labs.vm.image_definition import ADDONS, BASE, Definition
from tunbench.labs.vm.image_packages import PackagesGone, Versions
from tunbench.plan.shard import needing_of
from tunbench.run.order import Order, RunError
from tunbench.run.verify import listed
from tunbench.run.verify.their_run import TheirRun
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
    return [*_images(order), *(tool for tool in tools if not image.is_there(tool))]


def _images(order: Order) -> list[Definition]:
    """The images that are not there, where the lab cannot do without."""
    try:
        order.lab.check(
            needing_of(order.shards),
            {shard.machine for shard in order.shards},
            [shard.access for shard in order.shards],
        )
    except ImageError:
        names = {name for shard in order.shards for name in shard.addons}
        images = [BASE, *(ADDONS[name] for name in sorted(names))]
        if missing := [one for one in images if not image.is_there(one)]:
            return missing
        raise
    return []


def check(needed: list[Needed], their: TheirRun, exact: bool) -> None:
    """Raises ToolError where this machine lacks what building the tools takes, before anything is built.

    Raises RunError where `exact` is asked for, and one of them cannot be built as it was.
    """
    # The base image is asked for as well, which may be about to be built.
    tools = [one for one in needed if isinstance(one, Tool)]
    if BASE not in needed and (missing := build_requirements.missing(tools)):
        raise ToolError("\n".join(missing))
    if exact and tools:
        listed.tools(their, [one.name for one in tools])


def build(one: Needed, their: TheirRun, exact: bool, progress: Progress) -> None:
    """Builds one of them as the run had it, or where that is not to be had, and not asked for, as it is today.

    Raises ImageError, ToolError and RunError.
    """
    if isinstance(one, Tool):
        with in_cache(one.folder.parent):
            installing.install(one, progress)
        return
    versions = _versions(their, exact)
    try:
        image_build.build(one, progress, versions=versions)
    except PackagesGone:
        if exact:
            raise
        image_build.build(one, progress)


def _versions(their: TheirRun, exact: bool) -> Mapping[str, Versions] | None:
    try:
        return {name: one.packages for name, one in listed.images(their).items()}
    except RunError:
        if exact:
            raise
        return None
