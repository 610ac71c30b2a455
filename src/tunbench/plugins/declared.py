"""Whether the file of a tunnel, workload or probe declares what the contract asks for, told with file and line."""

import ast
from collections.abc import Callable, Collection, Iterable, Iterator
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any

from tunbench.plugins.folder import KINDS, PluginError
from tunbench.runner import probe, registry, workload
from tunbench.runner.declare.metrics import BOUNDS, COUNTED, Metric
from tunbench.runner.declare.options import resolve
from tunbench.runner.declare.packet_format import IP
from tunbench.runner.declare.recipe import Recipe
from tunbench.runner.declare.tunnel import MOST_MEMORY, About, Addon
from tunbench.runner.mistaken_file import PAGE, said_of

Mistake = tuple[str, str]
"""The name of the field, class or function that is wrong, and what is wrong with it."""

MAY_HAVE = {
    "seconds": ("options",),
    "busy": ("options",),
    "load": ("options",),
    "restarts": ("options",),
    "check": ("options", "given"),
    "misfit": ("options", "abouts"),
    "needs": ("options",),
}
"""The functions of a workload's file that say something of it, and what they are called with."""

UNDERLAYS = ("ip", "ethernet")

IMAGE = "base"
"""The name of the image that everything has."""

LARGEST_HEADER = 512
"""Bytes; the largest of a shipped tunnel has 120."""


OF_THE_NAME = (
    *("unit", "answers", "main", "limits", "more_is_better", "summed_over_cores"),
    *("followed", "followed_over_options", "at_a_glance"),
)
"""What of a metric follows from its name: it is the same whoever measures it."""


WRITTEN = {"answers": "question", "limits": "bounds"}
"""How a file writes it."""


def check(kind: str, name: str, file: Path) -> None:
    """Imports the file and looks at what it declares. Raises PluginError."""
    try:
        for wrong, why in CHECKS[kind](name):
            raise PluginError(f"{file}:{_line(file, wrong)}: {why} ({PAGE})")
    except (Exception, SystemExit) as error:
        if isinstance(error, PluginError):
            raise
        where = f"{file}:{_line(file, 'options') if isinstance(error, ValueError) else 1}"
        raise PluginError(said_of(error) or f"{where}: {type(error).__name__}: {error} ({PAGE})") from None


def first_mistake() -> str:
    """What is wrong with the first tunnel, workload or probe that is not as it must be; empty where all are."""
    names = {"tunnels": registry.tunnel_names, "workloads": registry.workload_names, "probes": registry.probe_names}
    for kind in KINDS:
        for name in names[kind]():
            try:
                check(kind, name, _file_of(kind, name))
            except PluginError as error:
                return str(error)
    return ""


def _of_tunnel(name: str) -> Iterator[Mistake]:
    try:
        kind = registry.tunnel(name)
    except StopIteration:
        yield "", "no class of this file is a Tunnel: write class Name(Tunnel)"
        return
    about = getattr(kind, "about", None)
    if not isinstance(about, About):
        yield kind.__name__, f"{kind.__name__} declares nothing: give it about = About(…)"
        return
    yield from _of_any(about, name)
    if about.layer not in (2, 3):
        yield "layer", f"layer={about.layer!r}: it is 2 where Ethernet frames are carried, or 3 for IP packets"
    if about.needs_underlay not in UNDERLAYS:
        yield "needs_underlay", f"needs_underlay={about.needs_underlay!r}: it is {' or '.join(UNDERLAYS)}"
    if about.needs.memory not in range(MOST_MEMORY + 1):
        yield "memory", f"memory={about.needs.memory!r}: write whole GiB beyond the usual one, at most {MOST_MEMORY}"
    for field in ("families", "outer"):
        if not (value := getattr(about, field)) or not set(value) <= {4, 6}:
            yield field, f"{field}={value!r}: write (4,), (6,) or (4, 6)"
    yield from _of_headers(about)
    options = resolve(kind.takes(), {}, name)
    for family in about.outer:
        try:
            evidence = kind.evidence(options, family)
        except (KeyError, IndexError, ValueError) as error:
            yield "evidence", f"evidence has {error} in braces, and there is no such option"
            return
        if "{" in evidence or not evidence.strip():
            yield "evidence", f"evidence={evidence!r}: it is a pcap filter, with options in single braces"
        most = kind.format(options, family).largest(1500)
        if not 0 < most <= 1500 - IP[family].size * bool(about.headers):
            yield "headers", f"with these headers packets of {most} B fit into 1500 B; declare what is on the wire"


def _of_headers(about: About) -> Iterator[Mistake]:
    for header in about.headers:
        if not isinstance(header.size, int) or not 0 < header.size <= LARGEST_HEADER:
            yield "headers", f'the header "{header.name}" has {header.size!r} bytes: write 1 to {LARGEST_HEADER}'
        if not header.source:
            yield "headers", f'the header "{header.name}" has no source: say where its size is written'


def _of_workload(name: str) -> Iterator[Mistake]:
    module = registry.workload(name)
    yield from _of_module(module, name, workload, "seconds", "execute", "parse")
    yield from _called_otherwise(module)
    about = module.ABOUT
    for metric in about.headline:
        if metric not in about.metrics:
            yield "headline", f'headline names "{metric}", which is none of its metrics'
    lasts = module.seconds(resolve(about.options, {}, name))
    if not lasts > 0:
        yield "seconds", f"seconds(options) is {lasts!r} by default: it is more than 0"


def _of_probe(name: str) -> Iterator[Mistake]:
    yield from _of_module(registry.probe(name), name, probe, "read", "samples")


CHECKS: dict[str, Callable[[str], Iterator[Mistake]]] = {
    "tunnels": _of_tunnel,
    "workloads": _of_workload,
    "probes": _of_probe,
}


def _of_module(module: ModuleType, name: str, contract: ModuleType, *functions: str) -> Iterator[Mistake]:
    """What is wrong with a file that declares ABOUT and has functions; whoever asks stops at the first mistake."""
    about = getattr(module, "ABOUT", None)
    if not isinstance(about, contract.About):
        yield "", f"it has no ABOUT = About(…) of {contract.__name__}"
        return
    yield from _of_any(about, name)
    for function in functions:
        if not callable(getattr(module, function, None)):
            yield "ABOUT", f"it has no function {function}"
    if not about.metrics:
        yield "metrics", f"a {contract.__name__.rpartition('.')[2]} has a metric at least"
    for metric, declared in about.metrics.items():
        if declared.unit not in BOUNDS:
            yield "metrics", f'the metric "{metric}" is in "{declared.unit}": it is one of {", ".join(BOUNDS)}'


def _of_any(about: Any, name: str) -> Iterator[Mistake]:
    if about.name != name:
        yield "name", f'it is called "{about.name}", and its file "{name}": give both one name'
    if not about.summary:
        yield "summary", "say what it is, in one line"


def _called_otherwise(module: ModuleType) -> Iterator[Mistake]:
    """The functions that a file may have, and that take something else than they are given."""
    for name, given in MAY_HAVE.items():
        try:
            if function := getattr(module, name, None):
                signature(function).bind(*given)
        except TypeError:
            yield name, f"{name} is called with {', '.join(given)}: write def {name}({', '.join(given)})"


def check_together(brought: Collection[str]) -> None:
    """Raises PluginError where a metric's name means one thing here and another one there.

    `brought` are the workloads and probes that plug-ins bring: the mistake is theirs.
    """
    _check_counted()
    probed: dict[str, str] = {}
    for name in sorted(registry.probe_names(), key=lambda one: (one in brought, one)):
        for metric in registry.probe(name).ABOUT.metrics:
            if (other := probed.setdefault(metric, name)) != name:
                raise _twice("probes", name, metric, f"is one of the probe {other}")
    measured: dict[str, tuple[str, Metric]] = {}
    for name in sorted(registry.workload_names(), key=lambda one: (one in brought, one)):
        for metric, declared in registry.workload(name).ABOUT.metrics.items():
            if metric in probed and name in brought:
                raise _twice("workloads", name, metric, f"is one of the probe {probed[metric]}")
            if metric in probed:
                raise _twice("probes", probed[metric], metric, f"is one of the workload {name}")
            other, theirs = measured.setdefault(metric, (name, declared))
            if differing := [key for key in OF_THE_NAME if getattr(declared, key) != getattr(theirs, key)]:
                why = f"has {_told(declared, differing)}, and {_told(theirs, differing)} in the workload {other}"
                raise _twice("workloads", name, metric, f"{why}: declare it as that does, or")

    _check_sources(brought)


def _check_counted() -> None:
    """Raises PluginError where a metric has the name of what nodes count beside every workload."""
    some = [("probes", name, registry.probe(name).ABOUT.metrics) for name in registry.probe_names()]
    some += [("workloads", name, registry.workload(name).ABOUT.metrics) for name in registry.workload_names()]
    for kind, name, metrics in some:
        for metric in sorted(metrics.keys() & COUNTED.keys()):
            raise _twice(kind, name, metric, "is what nodes count beside every workload")


def _check_sources(brought: Collection[str]) -> None:
    """Raises PluginError where an add-on or a tool of a name is one thing here and another one there."""
    found: dict[str, tuple[str, Any]] = {IMAGE: ("Tunbench itself", None)}
    declared = [("tunnels", name, registry.tunnel(name).about.sources) for name in registry.tunnel_names()]
    declared += [("workloads", name, registry.workload(name).ABOUT.sources) for name in registry.workload_names()]
    for kind, name, sources in sorted(declared, key=lambda one: (one[1] in brought, one[:2])):
        every: tuple[Addon | Recipe, ...] = (*sources.addons, *sources.recipes)
        for one in every:
            other, theirs = found.setdefault(one.name, (name, one))
            if one != theirs:
                file = _file_of(kind, name)
                raise PluginError(
                    f'{file}:{_line(file, "sources")}: "{one.name}" is one of {other} already, and another one there; '
                    f"give it another name ({PAGE})"
                )


def _told(metric: Metric, keys: Iterable[str]) -> str:
    values = [(WRITTEN.get(key, key), getattr(metric, key)) for key in keys]
    return ", ".join(f"{name}={value if isinstance(value, str) else repr(value)}" for name, value in values)


def _twice(kind: str, name: str, metric: str, why: str) -> PluginError:
    file = _file_of(kind, name)
    return PluginError(
        f'{file}:{_line(file, "metrics")}: the metric "{metric}" {why}{"" if why.endswith("or") else ";"} '
        f"give it another name ({PAGE})"
    )


def _file_of(kind: str, name: str) -> Path:
    spec = find_spec(f"tunbench.runner.{kind}.{name.replace('-', '_')}")
    return Path(spec.origin if spec and spec.origin else kind)


def _line(file: Path, wrong: str) -> int:
    """The line of a field of what is declared, or of a class, function or value of that name; else the first."""
    tree = ast.parse(file.read_bytes())
    fields = [node for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == wrong]
    named = [
        node
        for node in ast.walk(tree)
        if (isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == wrong)
        or (isinstance(node, ast.Name) and node.id == wrong and isinstance(node.ctx, ast.Store))
    ]
    return min((node.lineno for node in [*fields, *named]), default=1)
