"""The cells of a plan, and which of them a cell of a claim or a table stands for."""

from bisect import bisect
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from tunbench.plan.axes import stack, workload
from tunbench.plan.cut import Region, regions
from tunbench.plan.expand import restarts
from tunbench.plan.model import Plan
from tunbench.plan.study.cell import METRIC, Cell
from tunbench.plan.toml.mistakes import MistakeAt
from tunbench.runner import catalogue, registry
from tunbench.runner.declare.axes import NAMES
from tunbench.runner.declare.metrics import BRING_UP, OF_BRING_UP, Metric
from tunbench.runner.declare.options import MAX_LISTED, nearest
from tunbench.runner.workload import About


class Grid(NamedTuple):
    """The cells of a plan as a few regions, all values of the axes that they have, and the metrics of each workload."""

    regions: Sequence[Region]
    values: Mapping[str, Mapping[str, None]]
    metrics: Mapping[str, Mapping[str, Metric]]


class NoCell(MistakeAt):
    """The plan has no such cell; it may have one at another scale."""


def grid(plan: Plan) -> Grid:
    """The cells of a plan, with those of bringing each stack up."""
    probes = registry.probe_names() if plan.probes is None else plan.probes
    workloads = sorted(plan.workloads, key=restarts)
    names = {**plan.axes, "workload": [one.name for one in workloads]}
    found: list[Region] = []
    for *shards, measured in regions(names, plan.include, plan.exclude):
        found += [(*shards, {BRING_UP: None}), (*shards, measured)]
    values = {
        axis: dict.fromkeys(chain.from_iterable(each))
        for axis, each in zip(NAMES, zip(*found, strict=True), strict=True)
    }
    metrics = {one.name: metrics_of(one.about, probes) for one in workloads if one.name in values["workload"]}
    return Grid(found, values, {BRING_UP: OF_BRING_UP, **metrics})


def metrics_of(about: About, probes: Sequence[str]) -> dict[str, Metric]:
    """The metrics that a workload yields with these probes beside it, and with what nodes count."""
    return {**about.metrics, **catalogue.beside(() if about.restarts else probes)}


def resolve(cell: Cell, of: Grid) -> dict[str, str]:
    """All axes and the metric of the one cell that `cell` means; of a verdict there is no metric.

    Raises NoCell where the plan has none, and MistakeAt where it has several; each at the key that is wrong.
    """
    asked: dict[str, Iterable[str]] = {axis: [_value(axis, cell[axis], of)] for axis in NAMES if axis in cell}
    if not _within(asked, of):
        raise NoCell(f"the plan has no cell with {_written(cell)}: what it includes and excludes took it away")
    metric = cell.get("metric", METRIC)
    if "verdict" in cell:
        found = _within({"workload": [one for one in of.values["workload"] if one != BRING_UP], **asked}, of)
    else:
        workloads = asked.get("workload", of.values["workload"])
        found = _within({**asked, "workload": [one for one in workloads if metric in of.metrics[one]]}, of)
    if not found:
        raise _unmeasured(metric, cell, of)
    whole = dict(cell) if "verdict" in cell else {**cell, "metric": metric}
    for axis, each in zip(NAMES, zip(*found, strict=True), strict=True):
        several = list(dict.fromkeys(chain.from_iterable(each)))
        if len(several) > 1:
            raise MistakeAt(f"{_written(cell)} leaves open which {axis} it is: name one of {_listed(several)}")
        whole[axis] = several[0]
    return whole


def _within(asked: Mapping[str, Iterable[str]], of: Grid) -> list[tuple[Collection[str], ...]]:
    """What the regions have of the values that are asked of some axes; no region of which an axis has nothing."""
    # A study names thousands of cells in dozens of regions: most have nothing of the first axis that is asked for.
    wanted = [(NAMES.index(axis), values) for axis, values in asked.items()]
    return [narrowed for region in of.regions if (narrowed := _narrowed(region, wanted))]


def _narrowed(region: Region, wanted: Sequence[tuple[int, Iterable[str]]]) -> tuple[Collection[str], ...]:
    """A region with the wanted values of some axes, each told by its place; empty where an axis has none."""
    narrowed: list[Collection[str]] = [*region]
    for place, values in wanted:
        there = region[place]
        narrowed[place] = [one for one in values if one in there]
        if not narrowed[place]:
            return ()
    return tuple(narrowed) if all(narrowed) else ()


def metric_of(cell: Mapping[str, str], of: Grid) -> Metric:
    """What the metric of a cell that `resolve` gave is."""
    return of.metrics[cell["workload"]][cell["metric"]]


def _value(axis: str, value: str, of: Grid) -> str:
    """The plan's own spelling of a value of an axis. Raises NoCell."""
    known = of.values[axis]
    if value in known:
        return value
    meaning = _meaning(axis, value)
    same = (one for one in known if _meaning(axis, one) == meaning)
    if (found := next(same, None)) is None:
        raise NoCell(
            f'"{value}" is no {axis} of this plan{_nearest(value, [one for one in known if one != BRING_UP])}', axis
        )
    return found


def _nearest(value: str, known: Sequence[str]) -> str:
    """The end of a message about an unknown value; of many known ones it is compared with those that begin alike."""
    if len(known) <= MAX_LISTED:
        return nearest(value, list(known))
    ordered = sorted(known)
    place = bisect(ordered, value)
    few = ordered[max(0, place - MAX_LISTED // 2) : place + MAX_LISTED // 2]
    hint = nearest(value, few)
    return hint if hint.endswith("?") else f"{hint}, and {len(known) - len(few)} more"


def _meaning(axis: str, spelling: str) -> Hashable:
    """What a spelling of a stack or workload means; of any other value its name."""
    if spelling == BRING_UP or axis not in ("stack", "workload"):
        return spelling
    return stack.parse(spelling).meaning if axis == "stack" else workload.parse(spelling).meaning


def _unmeasured(metric: str, cell: Cell, of: Grid) -> NoCell:
    if "workload" in cell:
        known = of.metrics[_value("workload", cell["workload"], of)]
        return NoCell(f'"{cell["workload"]}" does not measure "{metric}"{nearest(metric, dict(known))}', "metric")
    every = {name: None for metrics in of.metrics.values() for name in metrics}
    return NoCell(f'no workload of this plan measures "{metric}"{nearest(metric, every)}', "metric")


def _written(cell: Mapping[str, str]) -> str:
    if not cell:
        return "a cell of which nothing is said"
    return ", ".join(f"{key} {value}" for key, value in cell.items())


def _listed(values: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(values[:most])
    return shown if len(values) <= most else f"{shown}, …"
