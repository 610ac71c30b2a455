"""Whether the plug-ins of a run that somebody made are those that are given here: none is taken from a run."""

from collections.abc import Mapping
from typing import Any

from tunbench.plain_text import line
from tunbench.plugins import taken
from tunbench.plugins.folder import Plugin
from tunbench.run.manifest import PLUGINS
from tunbench.run.order import RunError
from tunbench.runner.node.json_output import value_at


def check(manifest: Mapping[str, Any], run: str, command: str) -> None:
    """Raises RunError where a run was measured with a plug-in that is not given here, or with another one of that name.

    The manifest may be a stranger's: what it says is told, and nothing else is done with it. `command` is what is done
    with the run, without its plug-ins.
    """
    here, had = {one.name: one for one in taken.plugins()}, manifest.get(PLUGINS)
    for name, told in had.items() if isinstance(had, dict) else ():
        called, digest = line(str(name), 100), line(str(value_at(told, "digest")), 64)
        if name not in here:
            raise RunError(
                f"{run} was measured with the plug-in {called} (SHA-256 {digest}). No code is taken from a run: get "
                f"the same plug-in, in a folder of that name, and give it with: {command} --plugin DIR"
            )
        if here[name].digest != digest:
            raise RunError(
                f"{run} was measured with another plug-in {called} than {here[name].folder}: its SHA-256 is {digest}, "
                f"and that of the one given is {here[name].digest}; give the one that it was measured with"
            )


def of_run(manifest: Mapping[str, Any]) -> tuple[Plugin, ...]:
    """Those that are given here and that a run had: a probe of any other one would go into all of its shards."""
    had = manifest.get(PLUGINS)
    return tuple(one for one in taken.plugins() if isinstance(had, dict) and one.name in had)
