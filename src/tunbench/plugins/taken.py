"""The plug-ins of this process: what they bring is found by the registry as what is shipped is."""

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from types import ModuleType

from tunbench.plugins import declared, imported, installed
from tunbench.plugins.folder import KINDS, Plugin, PluginError, read
from tunbench.runner import probes, registry, tunnels, workloads

PACKAGES: dict[str, ModuleType] = {"tunnels": tunnels, "workloads": workloads, "probes": probes}

SHIPPED = {kind: tuple(package.__path__) for kind, package in PACKAGES.items()}
"""Where the registry finds what is shipped."""

SHIPPED_NAMES = {
    "tunnels": registry.tunnel_names(),
    "workloads": registry.workload_names(),
    "probes": registry.probe_names(),
}

_TAKEN: list[Plugin] = []

_FOLLOWERS: list[Callable[[], None]] = []


def follow(renew: Callable[[], None]) -> None:
    """Renews a table of what all tunnels declare, now and whenever plug-ins come or go."""
    _FOLLOWERS.append(renew)
    renew()


def plugins() -> Sequence[Plugin]:
    """All that were taken."""
    return tuple(_TAKEN)


def bringing(kind: str, name: str) -> str:
    """The name of the plug-in that brings a tunnel, workload or probe; empty where it is shipped."""
    return next((plugin.name for plugin in _TAKEN if name in plugin.names[kind]), "")


def take(folders: Iterable[Path] = (), with_installed: bool = True) -> None:
    """Takes the plug-ins in these folders, and those of installed packages, in the place of all that were taken before.

    They are imported and checked. Raises PluginError; then none is taken.
    """
    release()
    named = {one.folder: one for one in map(read, folders)}
    found = [*named.values(), *(installed.plugins() if with_installed else ())]
    if not found:
        return
    _check_names(found)
    _TAKEN.extend(found)
    imported.give(found)
    for kind, package in PACKAGES.items():
        package.__path__ = [*SHIPPED[kind], *(str(one.folder / kind) for one in found if one.names[kind])]
    registry.forget()
    try:
        for one in found:
            _check(one)
        declared.check_together({name for one in found for names in one.names.values() for name in names})
    except PluginError:
        release()
        raise
    _renew()


def release() -> None:
    """Takes all plug-ins away."""
    if not _TAKEN:
        return
    for kind, package in PACKAGES.items():
        package.__path__ = [*SHIPPED[kind]]
        for name in chain.from_iterable(plugin.names[kind] for plugin in _TAKEN):
            _forget(package, name.replace("-", "_"))
    _TAKEN.clear()
    imported.give(())
    registry.forget()
    _renew()


def _check_names(found: Sequence[Plugin]) -> None:
    """Raises PluginError where two are called alike, or bring what is called alike, or what is called as shipped."""
    for number, one in enumerate(found):
        if other := next((other for other in found[:number] if other.name == one.name), None):
            raise PluginError(
                f"two plug-ins are called {one.name}: {other.folder} and {one.folder}; rename one, or leave it out"
            )
    for kind, what in KINDS.items():
        here: dict[str, Plugin] = {}
        for one in found:
            for name in one.names[kind]:
                file = one.file_of(kind, name)
                if name in SHIPPED_NAMES[kind]:
                    raise PluginError(f'{file}: Tunbench has a {what} "{name}" of its own; give yours another name')
                if other := here.get(name):
                    raise PluginError(
                        f'{file}: {other.file_of(kind, name)} is a {what} "{name}", too; give one another name, or '
                        "leave one plug-in out"
                    )
                here[name] = one


def _check(plugin: Plugin) -> None:
    try:
        for kind, names in plugin.names.items():
            for name in names:
                declared.check(kind, name, plugin.file_of(kind, name))
    except PluginError as error:
        raise PluginError(f"{error}{installed.mend_of(plugin.package) if plugin.package else ''}") from None


def _forget(package: ModuleType, module: str) -> None:
    whole = f"{package.__name__}.{module}"
    for name in [name for name in sys.modules if name == whole or name.startswith(f"{whole}.")]:
        del sys.modules[name]
    vars(package).pop(module, None)


def _renew() -> None:
    for renew in _FOLLOWERS:
        renew()
