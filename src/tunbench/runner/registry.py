"""Finds tunnels, workloads and probes by the files that are there. A file is imported when it is asked for."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, lru_cache
from types import ModuleType
from typing import TypeVar, cast

from tunbench.runner import probes, tunnels, workloads
from tunbench.runner.declare.options import nearest
from tunbench.runner.declare.tunnel import Sources
from tunbench.runner.mistaken_file import SHARED
from tunbench.runner.tunnel import Tunnel

Made = TypeVar("Made", bound=Callable[..., object])

_FORGETTING: list[Callable[[], None]] = []


def remembered(make: Made) -> Made:
    """Remembers what a function made of tunnels, workloads and probes, until others are there: see `forget`."""
    kept = lru_cache(maxsize=20_000)(make)
    _FORGETTING.append(kept.cache_clear)
    return cast(Made, kept)


def forget() -> None:
    """Forgets all that is `remembered`: other tunnels, workloads or probes are there now."""
    importlib.invalidate_caches()
    for each in _FORGETTING:
        each()


def tunnel_names() -> list[str]:
    """The names of all tunnels, sorted."""
    return _names(tunnels)


def workload_names() -> list[str]:
    """The names of all workloads, sorted."""
    return _names(workloads)


def probe_names() -> list[str]:
    """The names of all probes, sorted."""
    return _names(probes)


def tunnel(name: str) -> type[Tunnel]:
    """The tunnel of that name. Raises ValueError where there is none."""
    module = _module(tunnels, name, "tunnel")
    return next(
        thing
        for thing in vars(module).values()
        if isinstance(thing, type) and issubclass(thing, Tunnel) and thing.__module__ == module.__name__
    )


def workload(name: str) -> ModuleType:
    """The module of the workload of that name: `ABOUT`, `seconds`, `execute` and `parse`. Raises ValueError."""
    return _module(workloads, name, "workload")


def probe(name: str) -> ModuleType:
    """The module of the probe of that name: `ABOUT`, `read` and `samples`. Raises ValueError."""
    return _module(probes, name, "probe")


def all_sources() -> Iterator[Sources]:
    """Where the programs of each tunnel and workload come from that the base image lacks."""
    for name in tunnel_names():
        yield tunnel(name).about.sources
    for name in workload_names():
        yield workload(name).ABOUT.sources


def import_all() -> None:
    """Imports everything that could be asked for, so that no shard has to.

    A file with a mistake, whatever it is, is told to those who ask for it, and to nobody else.
    """
    for package in (tunnels, workloads, probes):
        for name in _names(package):
            with suppress(Exception):
                _module(package, name, "module")


def _names(package: ModuleType) -> list[str]:
    return list(_found(tuple(package.__path__)))


# A plan asks some thousand times.
@cache
def _found(folders: tuple[str, ...]) -> tuple[str, ...]:
    names = (info.name for info in pkgutil.iter_modules(folders) if info.name != SHARED)
    return tuple(sorted(name.replace("_", "-") for name in names))


def _module(package: ModuleType, name: str, what: str) -> ModuleType:
    if name not in _found(tuple(package.__path__)):
        raise ValueError(f'unknown {what} "{name}"{nearest(name, _names(package))}')
    return importlib.import_module(f"{package.__name__}.{name.replace('-', '_')}")
