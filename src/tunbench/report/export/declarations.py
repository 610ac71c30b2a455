"""What there is to measure, and with what, as JSON can say it: what tunnels, workloads, probes and plans declare."""

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from tunbench.plan.expand import expand, trials
from tunbench.plan.load import load
from tunbench.plugins import taken
from tunbench.runner import invocation, registry
from tunbench.runner.declare import topology as topologies
from tunbench.runner.declare.access import Access
from tunbench.runner.declare.metrics import Metric
from tunbench.runner.declare.options import Option
from tunbench.runner.declare.tunnel import About
from tunbench.toolbox.tools import TOOLS


def tunnel(name: str, installed: Mapping[str, str]) -> dict[str, Any]:
    """What a tunnel declares; `installed` are the versions of the image's packages."""
    kind = registry.tunnel(name)
    about = kind.about
    return {
        "name": about.name,
        "summary": about.summary,
        "layer": about.layer,
        "claims": about.claims._asdict(),
        "options": options(kind.takes()),
        "needs": {
            "underlay": about.needs_underlay,
            "roles": about.roles,
            "modules": [module.name for module in about.needs.modules],
            "programs": about.needs.programs,
            "addons": about.needs.addons,
            "tools": about.needs.tools,
            "brought": about.needs.brought,
        },
        "families": about.families,
        "outer": about.outer,
        "version": {package: installed.get(package) for package in _packages(about)}
        | {name: TOOLS[name].version if TOOLS[name].installed else None for name in about.needs.tools},
        "plugin": taken.bringing("tunnels", name),
    }


def _packages(about: About) -> tuple[str, ...]:
    """Debian's packages that decide on a tunnel; where there is nothing else, it is the kernel's."""
    return about.packages or (() if about.needs.tools or about.needs.brought else ("linux-image-amd64",))


def access(one: Access) -> dict[str, Any]:
    """What an access is; its firewall is that over IPv4, also where nobody wrote one."""
    return {**one.spec(), "firewall": one.firewall_over(4)}


def workload(name: str) -> dict[str, Any]:
    """What a workload declares."""
    about = registry.workload(name).ABOUT
    return {
        "name": about.name,
        "summary": about.summary,
        "options": options(invocation.takes(about)),
        "metrics": metrics(about.metrics),
        "needs": {
            "programs": [*about.programs, *about.sources.packages],
            "addons": [one.name for one in about.sources.addons],
            "tools": [one.name for one in about.sources.recipes],
        },
        "plugin": taken.bringing("workloads", name),
    }


def probe(name: str) -> dict[str, Any]:
    """What a probe declares."""
    about = registry.probe(name).ABOUT
    return {
        "name": about.name,
        "summary": about.summary,
        "metrics": metrics(about.metrics),
        "plugin": taken.bringing("probes", name),
    }


def topology(name: str) -> dict[str, Any]:
    """What a topology declares."""
    declared = topologies.OPTIONS.get(name, {})
    return {"name": name, "options": options(declared), "summary": topologies.SUMMARIES[name]}


def plan(name: str) -> dict[str, Any]:
    """A shipped plan: its first paragraph says what it is for."""
    loaded = load(name)
    shards = expand(loaded.plan)
    return {
        "name": name,
        "shards": len(shards),
        "trials": trials(shards),
        "summary": first_paragraph(loaded.text),
        "file": str(loaded.path),
    }


def first_paragraph(text: str) -> str:
    """The first paragraph of the comment that a plan begins with, on one line."""
    paragraph = takewhile(lambda line: line.startswith("#") and line.strip("# "), text.splitlines())
    return " ".join(line.strip("# ") for line in paragraph)


def metrics(declared: Mapping[str, Metric]) -> dict[str, dict[str, Any]]:
    """The metrics as JSON can say them."""
    told = ("unit", "summary", "more_is_better")
    return {name: {key: getattr(metric, key) for key in told} for name, metric in declared.items()}


def options(declared: Mapping[str, Option]) -> dict[str, dict[str, Any]]:
    """The options as JSON can say them: a bound that is not there is null."""
    return {name: option._asdict() for name, option in declared.items()}
