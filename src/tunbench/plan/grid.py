"""The cells of a plan, and which of them a cell of a claim or a table stands for."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from tunbench.plan.cell import METRIC, UP, Cell
from tunbench.plan.cut import AXES
from tunbench.plan.expand import expand
from tunbench.plan.model import Plan
from tunbench.plan.places import MistakeAt
from tunbench.plan.stack import Meaning, meaning_of_stack, meaning_of_workload
from tunbench.runner import asked, probe, registry
from tunbench.runner.options import nearest
from tunbench.runner.workload import Metric

OF_UP = {"connect": Metric("s", "time until the stack carried its first packet")}
"""The metrics of bringing a stack up."""


class Grid(NamedTuple):
    """The cells of a plan: their values of AXES, where each value stands among them, and each workload's metrics."""

    cells: Sequence[tuple[str, ...]]
    places: Mapping[str, Mapping[str, frozenset[int]]]
    metrics: Mapping[str, Mapping[str, Metric]]


class NoCell(MistakeAt):
    """The plan has no such cell; it may have one at another scale."""


def grid(plan: Plan) -> Grid:
    """The cells of a plan, with those of bringing each stack up."""
    probes = registry.probe_names() if plan.probes is None else plan.probes
    cells: list[tuple[str, ...]] = []
    metrics: dict[str, Mapping[str, Metric]] = {}
    for shard in expand(plan.model_copy(update={"repeats": 1})):
        for workload in (UP, *shard.workloads):
            cell = shard.cell_of(workload)
            cells.append(tuple(cell[axis] for axis in AXES))
            metrics[workload] = {}
    for workload in metrics:
        metrics[workload] = OF_UP if workload == UP else metrics_of(workload, probes)
    places: dict[str, dict[str, set[int]]] = {axis: {} for axis in AXES}
    for number, values in enumerate(cells):
        for axis, value in zip(AXES, values, strict=True):
            places[axis].setdefault(value, set()).add(number)
    frozen = {axis: {value: frozenset(found) for value, found in values.items()} for axis, values in places.items()}
    return Grid(cells, frozen, metrics)


def metrics_of(workload: str, probes: Sequence[str]) -> dict[str, Metric]:
    """The metrics that a workload yields with these probes beside it. Raises ValueError."""
    about = asked.read(workload).module.ABOUT
    return {**about.metrics, **({} if about.restarts else probe.metrics(probes))}


def resolve(cell: Cell, of: Grid) -> dict[str, str]:
    """All AXES and the metric of the one cell that `cell` means.

    Raises NoCell where the plan has none, and MistakeAt where it has several; each at the key that is wrong.
    """
    found, asked_for = set(range(len(of.cells))), dict(cell)
    for axis in AXES:
        if axis in cell:
            asked_for[axis] = _value(axis, cell[axis], of)
            found &= of.places[axis][asked_for[axis]]
    if not found:
        raise NoCell(f"the plan has no cell with {_written(cell)}: what it includes and excludes took it away")
    metric = asked_for.setdefault("metric", METRIC)
    found = {number for number in found if metric in of.metrics[_workload(of, number)]}
    if not found:
        raise _unmeasured(metric, cell, of)
    for axis, values in zip(AXES, zip(*(of.cells[number] for number in sorted(found)), strict=True), strict=True):
        several = list(dict.fromkeys(values))
        if len(several) > 1:
            raise MistakeAt(f"{_written(cell)} leaves open which {axis} it is: name one of {_listed(several)}")
        asked_for[axis] = several[0]
    return asked_for


def metric_of(cell: Mapping[str, str], of: Grid) -> Metric:
    """What the metric of a cell that `resolve` gave is."""
    return of.metrics[cell["workload"]][cell["metric"]]


def _value(axis: str, value: str, of: Grid) -> str:
    """The plan's own spelling of a value of an axis. Raises NoCell."""
    known = of.places[axis]
    if value in known:
        return value
    same = (one for one in known if axis in ("stack", "workload") and _meaning(axis, one) == _meaning(axis, value))
    if (found := next(same, None)) is None:
        listed = [one for one in known if one != UP]
        raise NoCell(f'"{value}" is no {axis} of this plan{nearest(value, listed)}', axis)
    return found


@lru_cache(maxsize=4096)
def _meaning(axis: str, spelling: str) -> Meaning:
    if spelling == UP:
        return (UP,)
    return meaning_of_stack(spelling) if axis == "stack" else meaning_of_workload(spelling)


def _unmeasured(metric: str, cell: Cell, of: Grid) -> NoCell:
    if "workload" in cell:
        known = of.metrics[_value("workload", cell["workload"], of)]
        return NoCell(f'"{cell["workload"]}" does not measure "{metric}"{nearest(metric, dict(known))}', "metric")
    every = {name: None for metrics in of.metrics.values() for name in metrics}
    return NoCell(f'no workload of this plan measures "{metric}"{nearest(metric, every)}', "metric")


def _workload(of: Grid, number: int) -> str:
    return of.cells[number][AXES.index("workload")]


def _written(cell: Mapping[str, str]) -> str:
    if not cell:
        return "a cell of which nothing is said"
    return ", ".join(f"{key} {value}" for key, value in cell.items())


def _listed(values: Sequence[str], most: int = 8) -> str:
    shown = ", ".join(values[:most])
    return shown if len(values) <= most else f"{shown}, …"
