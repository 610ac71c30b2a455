"""The tools: what tunnels and workloads say of how they are built, and where each lies when it is."""

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from tunbench.labs import image
from tunbench.labs.extras import ExtraKind
from tunbench.plan.cache_folder import cache
from tunbench.plugins import taken
from tunbench.runner import registry
from tunbench.runner.declare.options import nearest
from tunbench.runner.declare.recipe import Recipe


class UnknownTool(Exception):
    """There is no tool of that name; the message names the nearest."""


class Tool(Recipe):
    """A tool of the toolbox, which may be installed: how it is built, and where it lies then."""

    kind: ClassVar[ExtraKind] = "tools"

    @property
    def folder(self) -> Path:
        """Where it lies in the cache, when it is installed."""
        return tools_folder() / f"{self.name}-{self.version}"

    @property
    def build(self) -> str:
        """The command that installs it."""
        return f"tunbench toolbox install {self.name}"

    @property
    def rebuild(self) -> str:
        """The command that installs it although something is there."""
        return f"tunbench toolbox install --force {self.name}"

    @property
    def installed(self) -> bool:
        """Whether it is there with all its files, as far as this user may look."""
        return image.is_whole(self)


def _recipes() -> Iterator[Recipe]:
    """The recipes of all tunnels and workloads; several may need one tool."""
    return (recipe for sources in registry.all_sources() for recipe in sources.recipes)


TOOLS: dict[str, Tool] = {}
"""Every tool, those of plug-ins too, by its name."""


def _renew_tools() -> None:
    TOOLS.clear()
    TOOLS.update({recipe.name: Tool(*recipe) for recipe in sorted(_recipes(), key=lambda recipe: recipe.name)})


taken.follow(_renew_tools)


def tools_folder() -> Path:
    """Where tools lie in the cache."""
    return cache() / "tools"


def tool(name: str) -> Tool:
    """The tool of that name. Raises UnknownTool."""
    if name not in TOOLS:
        raise UnknownTool(f'there is no tool "{name}"{nearest(name, list(TOOLS))}')
    return TOOLS[name]
