"""The tables of a report: rows of texts with the numbers to sort them by."""

import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import polars as pl

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


class Costly(NamedTuple):
    """A row of the table of costs: of a byte with its excess over `none` and the ratio to it, and of a packet."""

    stack: str
    condition: str
    workload: str
    cost: Entry
    interval: str
    excess: Entry
    excess_interval: str
    ratio: Entry
    packet: Entry
    packet_excess: Entry


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
    nodes = dict(findings.cells.group_by("metric").agg(pl.col("node").n_unique()).iter_rows())
    return [_measured(row, nodes[row["metric"]] > 1) for row in findings.cells.iter_rows(named=True)]


def costs(findings: Findings) -> list[Costly]:
    """What every cell cost: by condition and workload, and within these in the order of the findings."""
    rows: dict[tuple[str, str, str], dict[str, Mapping[str, Any]]] = {}
    for row in findings.costs.iter_rows(named=True):
        rows.setdefault((row["stack"], row["condition"], row["workload"]), {})[row["metric"]] = row
    conditions = list(findings.conditions.values())
    ordered = sorted(rows, key=lambda place: (conditions.index(place[1]), place[2]))
    return [_costly(*place, rows[place]["cost"], rows[place]["cost-packet"]) for place in ordered]


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


def _costly(stack: str, condition: str, workload: str, byte: Mapping[str, Any], packet: Mapping[str, Any]) -> Costly:
    return Costly(
        stack,
        condition,
        workload,
        _quantity(byte, "median"),
        units.interval(byte["low"], byte["median"], byte["high"], byte["unit"]),
        _quantity(byte, "excess_median"),
        _interval_of_excess(byte),
        Entry(units.ratio(byte["ratio_median"]), byte["ratio_median"]),
        _quantity(packet, "median"),
        _quantity(packet, "excess_median"),
    )


def _quantity(row: Mapping[str, Any], column: str) -> Entry:
    return Entry(units.quantity(row[column], row["unit"]), row[column])


def _interval_of_excess(row: Mapping[str, Any]) -> str:
    low, median, high = (row[f"excess_{name}"] for name in ("low", "median", "high"))
    return "" if median is None else units.interval(low, median, high, row["unit"])


def _measured(row: Mapping[str, Any], named: bool) -> Measured:
    """A row; the node is `named` where the metric has values of several."""
    estimate = (row["low"], row["median"], row["high"], row["unit"])
    compared = row["ratio_median"] is not None
    return Measured(
        row["stack"],
        row["condition"],
        row["workload"],
        metric(row["metric"], row["statistic"]) + (f", {row['node']}" if named else ""),
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
