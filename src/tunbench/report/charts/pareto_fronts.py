"""One metric over throughput, a point a stack, and the tunnels that none beats in both: the Pareto front."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from tunbench.analysis.ratios import is_baseline
from tunbench.report import units
from tunbench.report.charts import points
from tunbench.report.charts.canvas import Mark
from tunbench.report.charts.figure import Figure, Panel, address_of, by_condition, marks, words_of
from tunbench.report.charts.points import Both, Range
from tunbench.report.view import View

FRONTS = {
    "rtt": ("s", "round-trip time", "Up and left is slow, down and right is good."),
    "cost": ("s/B", "cost", "Up and left is slow and costly, down and right is good."),
}
"""Unit, words and reading of what is drawn over throughput."""


def figures(view: View, up: str) -> list[Figure]:
    """For each workload with a throughput: another metric over it, a panel a condition, with the Pareto front.

    The other metric is of the same workload, or of the first that has it: a round-trip time is measured without load.
    """
    found: list[Figure] = []
    drawn, with_it = marks(view), view.measuring(up)
    for number, workload in enumerate(view.measuring("throughput")):
        other = workload if workload in with_it else next(iter(with_it), "")
        if not other or (up == "cost" and other != workload):
            continue
        panels = []
        above = by_condition(view.central.get((other, up), []))
        for condition, across in by_condition(view.central.get((workload, "throughput"), [])).items():
            both, index = _both(view, across, above.get(condition, []), up, drawn), view.places.conditions[condition]
            if len(both) > 1:
                name = f"front-{up}-{number}-{index}"
                titles = ("throughput", FRONTS[up][1])
                heading = f"{titles[1]} over throughput of {workload}, {condition}"
                draw = partial(points.draw, both, ("bit/s", FRONTS[up][0]), titles, name, heading)
                panels.append(Panel(condition, index, draw))
        if panels:
            front = "The dashed line joins the tunnels that no other tunnel beats in both: the Pareto front"
            note = f"{FRONTS[up][2]} {front}; one alone has no line."
            at, heading = view.workloads.index(workload), f"throughput and {FRONTS[up][1]}"
            name = f"fronts-{up}-{number}"
            found.append(Figure(name, heading, workload, note, at, panels, not found))
    return found


def _both(
    view: View,
    across: Sequence[dict[str, Any]],
    above: Sequence[dict[str, Any]],
    up: str,
    drawn: Mapping[tuple[str, str], Mark],
) -> list[Both]:
    """The stacks of one condition, from its rows of either metric."""
    by_stack = {(row["run"], row["stack"]): row for row in above}
    if len(by_stack) < len(above) or len({(row["run"], row["stack"]) for row in across}) < len(across):
        # Several pairs or directions have no single place.
        return []
    return [
        Both(
            row["stack"] + (f" · {row['run']}" if view.several else ""),
            drawn[row["run"], row["stack"]],
            _range(row),
            _range(beside),
            f"{words_of(view, row)}\n{up}: {units.quantity(beside['median'], beside['unit'])} "
            f"{units.interval(beside['low'], beside['median'], beside['high'], beside['unit'])}",
            not is_baseline(row["stack"]),
            address_of(view, row),
        )
        for row in across
        if (beside := by_stack.get((row["run"], row["stack"])))
    ]


def _range(row: Mapping[str, Any]) -> Range:
    return Range(row["median"], row["low"], row["high"])
