"""The tables of a report: rows of texts with the numbers to sort them by."""

import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from tunbench.analysis.cells import WHOLE
from tunbench.analysis.findings import Findings
from tunbench.analysis.statistics import INTERVAL
from tunbench.analysis.verdicts import executed, place
from tunbench.journal.record import TrialResult
from tunbench.report import units


class Entry(NamedTuple):
    """A field of a table: its text, and the number that it is sorted by, if any."""

    text: str
    key: float | None = None


class Measured(NamedTuple):
    """A row of the table of everything."""

    stack: str
    condition: str
    workload: str
    metric: str
    n: Entry
    median: Entry
    interval: Entry
    kind: str
    ratio: Entry
    ratio_interval: str


class Execution(NamedTuple):
    """A trial as the report links to it: its repeat, its verdict, and the address of its commands."""

    repeat: int
    verdict: str
    href: str


class Executions(NamedTuple):
    """The trials of one cell."""

    stack: str
    condition: str
    workload: str
    trials: list[Execution]


def everything(findings: Findings) -> list[Measured]:
    """Every cell and metric, in the order of the findings."""
    return [_measured(row) for row in findings.cells.iter_rows(named=True)]


def executions(findings: Findings) -> list[Executions]:
    """Every cell with its trials, in the order of conditions and stacks, repeats rising."""
    groups: dict[tuple[str, str, str], list[TrialResult]] = {}
    for trial in executed(findings.record):
        key = (findings.conditions[place(trial.cell)], trial.cell["stack"], trial.cell["workload"])
        groups.setdefault(key, []).append(trial)
    conditions = list(findings.conditions.values())
    ordered = sorted(groups, key=lambda key: (conditions.index(key[0]), findings.stacks.index(key[1]), key[2]))
    return [
        Executions(stack, condition, workload, _executions(groups[condition, stack, workload]))
        for condition, stack, workload in ordered
    ]


def facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The manifest as names and values, one row a leaf; long lists of packages are left to `packages`."""
    return [(name, text) for name, text in _leaves(manifest) if not name.startswith("image.packages.")]


def packages(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The packages of the image with their versions, sorted."""
    image = manifest.get("image")
    listed = image.get("packages") if isinstance(image, dict) else None
    return sorted((str(name), str(version)) for name, version in listed.items()) if isinstance(listed, dict) else []


def commands(trial: TrialResult) -> str:
    """The address of a trial's commands, relative to the run's folder; whatever stands in it, it is a path there."""
    return "./" + quote(f"{trial.folder.strip('/')}/commands.sh", safe="/")


def metric(name: str, statistic: str) -> str:
    """How a metric's statistic is called in a table: `rtt` for a trial's median, `rtt p95` for its percentile."""
    return name if statistic in (WHOLE, "median") else f"{name} {statistic}"


def _measured(row: Mapping[str, Any]) -> Measured:
    estimate = (row["low"], row["median"], row["high"], row["unit"])
    compared = row["ratio_median"] is not None
    return Measured(
        row["stack"],
        row["condition"],
        row["workload"],
        metric(row["metric"], row["statistic"]),
        Entry(str(row["n"]), row["n"]),
        Entry(units.quantity(row["median"], row["unit"]), row["median"]),
        Entry(units.interval(*estimate), row["high"] - row["low"]),
        row["kind"] if row["kind"] == INTERVAL else f"{row['kind']} ({100 * row['coverage']:.0f}{units.NBSP}%)",
        Entry(units.ratio(row["ratio_median"]), row["ratio_median"]),
        units.interval(row["ratio_low"], row["ratio_median"], row["ratio_high"], "") if compared else "",
    )


def _executions(trials: list[TrialResult]) -> list[Execution]:
    ordered = sorted(trials, key=lambda trial: trial.cell["repeat"])
    return [Execution(trial.cell["repeat"], trial.verdict, commands(trial)) for trial in ordered]


def _leaves(value: Any, name: str = "") -> list[tuple[str, str]]:
    if isinstance(value, dict) and value:
        return [leaf for key, inner in value.items() for leaf in _leaves(inner, f"{name}.{key}" if name else str(key))]
    if isinstance(value, list | tuple) and name == "command":
        return [(name, shlex.join(str(word) for word in value))]
    if isinstance(value, list | tuple):
        return [(name, ", ".join(_flat(one) for one in value) or units.NOTHING)]
    return [(name, units.NOTHING if value is None or value == {} else str(value))]


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_flat(inner)}" for key, inner in value.items()) + "}"
    return str(value)
