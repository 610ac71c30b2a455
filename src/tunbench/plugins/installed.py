"""Plug-ins of installed packages: those that have an entry point of Tunbench's group."""

from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path

from tunbench.plugins.folder import Plugin, PluginError, read

LEAVE_OUT = "--no-installed-plugins"
"""The option of `tunbench` itself without which every command has them."""

GROUP = "tunbench.plugins"
"""In a package's pyproject.toml: `[project.entry-points."tunbench.plugins"]`, a line `NAME = "PACKAGE"` in it."""


def plugins() -> Iterator[Plugin]:
    """The plug-ins of all installed packages, by their names. Nothing of them is executed. Raises PluginError."""
    for entry in sorted(entry_points(group=GROUP), key=lambda one: (one.name, one.value)):
        package = (entry.dist.name if entry.dist else "") or entry.value
        try:
            yield read(_folder_of(entry), entry.name, package)
        except PluginError as error:
            raise PluginError(f"{error}{mend_of(package)}") from None


def mend_of(package: str) -> str:
    """What else helps against a mistake in an installed plug-in."""
    return (
        f"; or remove the package that brings it, with: pip uninstall {package}, or leave those of packages out, with: "
        f"tunbench {LEAVE_OUT} COMMAND"
    )


def _folder_of(entry: EntryPoint) -> Path:
    """The folder of the package that an entry point names, of which nothing is executed. Raises PluginError."""
    try:
        # Of a package within another one Python would execute that one to find it.
        spec = find_spec(entry.value) if entry.value.isidentifier() else None
    except Exception:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise PluginError(
            f'the entry point {entry.name} = "{entry.value}" of {GROUP} leads to no package; name the package whose '
            "folder holds tunnels/, workloads/ or probes/, which lies in no other one"
        )
    return Path(next(iter(spec.submodule_search_locations)))
