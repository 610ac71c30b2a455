"""The charts of a report that have curves and points: how stacks degrade, whole distributions, and Pareto fronts."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from tunbench.analysis.cells import CENTRAL
from tunbench.analysis.ratios import is_baseline
from tunbench.report import questions, units
from tunbench.report.charts import curves, points, sweeps
from tunbench.report.charts.canvas import Mark
from tunbench.report.charts.curves import Axis, Curve, Point
from tunbench.report.charts.figures import OPEN, Figure, Panel, href, marks, told
from tunbench.report.charts.points import Both, Range
from tunbench.report.view import View
from tunbench.runner.declare.metrics import Question

DEGRADE = "degrades"
"""The question of how stacks fare as the network gets worse."""

SHARES = sorted({*(index / 50 for index in range(51)), 0.99, 0.995, 0.999})
"""The shares of a distribution at which its curve has a point."""

ENOUGH = 20
"""Raw values from which on a distribution is drawn."""

WATCHED = ("throughput", "goodput", "request-rate", "transactions", "rtt", "latency", "loss")
"""Metrics that are followed over the profiles."""


def degrading(view: View) -> list[Figure]:
    """For each workload: its main metrics over each term that profiles vary alone; else over the profiles in order."""
    swept = sweeps.of_profiles(view)
    axes_of = [(sweep, Axis(sweep.title, sweep.unit), dict((name, x) for x, name in sweep.members)) for sweep in swept]
    rest = [name for name in view.conditions if not any(name in members for *_, members in axes_of)]
    if len(rest) > 1:
        places = {name: float(index) for index, name in enumerate(rest)}
        axes_of.append((sweeps.Sweep("profile", "", ()), Axis("", "", rest), places))
    metrics = [name for name in WATCHED if axes_of and view.measuring(name)]
    found: list[Figure] = []
    for number, workload in enumerate(view.workloads):
        panels = []
        for metric in metrics:
            rows = _rows(view, workload, metric)
            for index, (sweep, axis, members) in enumerate(axes_of):
                drawn = _curves(view, [row for row in rows if row["condition"] in members], "condition", members)
                if drawn:
                    name = f"degrade-{number}-{WATCHED.index(metric)}-{index}"
                    over = f" over {sweep.title}" if axis.title else ""
                    heading = f"{metric}{over}{', ' + sweep.where if sweep.where else ''}"
                    up = Axis(metric, rows[0]["unit"])
                    svg = curves.draw(drawn, axis, up, name, f"{heading}, {workload}")
                    panels.append(Panel(heading, -1, svg))
        if panels:
            unfolded = len(found) < OPEN
            found.append(Figure(f"degrading-{number}", DEGRADE, workload, "", "", number, panels, unfolded))
    return found


def by_option(view: View) -> list[Figure]:
    """For each option that workloads vary alone: their main metrics over it, a panel a condition."""
    found: list[Figure] = []
    for number, sweep in enumerate(sweeps.of_workloads(view)):
        members = {name: x for x, name in sweep.members}
        kept = view.cells.filter(pl.col("workload").is_in(list(members)) & pl.col("statistic").is_in(CENTRAL))
        there = set(kept["metric"].to_list())
        for metric in [name for name in (*WATCHED, "jitter", "cost") if name in there]:
            rows = list(kept.filter(pl.col("metric") == metric).iter_rows(named=True))
            panels = []
            for condition, here in _by_condition(rows).items():
                index = view.places.conditions[condition]
                drawn = _curves(view, here, "workload", members)
                if drawn:
                    name, heading = f"option-{number}-{metric}-{index}", f"{metric} over {sweep.title}, {condition}"
                    axis = Axis(sweep.title, sweep.unit)
                    panels.append(
                        Panel(condition, index, curves.draw(drawn, axis, Axis(metric, rows[0]["unit"]), name, heading))
                    )
            if panels:
                about = f"{sweep.where}, over {sweep.title}"
                name = f"over-{number}-{metric}"
                unfolded = metric in ("throughput", "rtt")
                found.append(Figure(name, DEGRADE, metric, about, "", -1, panels, unfolded))
    return found


def distributions(view: View) -> list[Figure]:
    """For each main metric of a series: the share of values up to each value, a panel a condition."""
    raw = view.samples.filter(pl.col("at").is_not_null())
    measured = raw.select("workload", "metric").unique(maintain_order=True).rows()
    ranks = questions.ranks(measured, view.workloads)
    main = [name for name in ranks if questions.is_main(name)]
    late = [name for name in main if questions.question(name, "s") == Question.LATE]
    drawn, found = marks(view), []
    for metric in late:
        kept = raw.filter(pl.col("metric") == metric)
        keys = ["workload", "condition", "run", "stack", "name"]
        groups = kept.group_by(keys, maintain_order=True).agg("value").filter(pl.col("value").list.len() >= ENOUGH)
        of: dict[tuple[str, str], list[Curve]] = {}
        for workload, condition, run, stack, name, values in groups.iter_rows():
            xs = quantiles(values)
            dots = [Point(x, 100 * share) for x, share in zip(xs, SHARES, strict=True)]
            of.setdefault((workload, condition), []).append(Curve(name, drawn[run, stack], dots))
        found += _distributions(view, metric, of)
    return found


def quantiles(values: Sequence[float]) -> list[float]:
    """The values at SHARES, interpolated linearly between raw values (see `analysis.cells.per_trial`)."""
    ordered = sorted(values)
    found = []
    for share in SHARES:
        below, rest = divmod(share * (len(ordered) - 1), 1)
        low, high = ordered[int(below)], ordered[min(int(below) + 1, len(ordered) - 1)]
        found.append(low + (high - low) * rest)
    return found


def _distributions(view: View, metric: str, of: Mapping[tuple[str, str], list[Curve]]) -> list[Figure]:
    found: list[Figure] = []
    there = {workload for workload, _ in of}
    for number, workload in enumerate(name for name in view.workloads if name in there):
        panels = []
        for index, condition in enumerate(view.conditions):
            if (workload, condition) in of:
                name, heading = (
                    f"ecdf-{metric}-{number}-{index}",
                    f"distribution of {metric} of {workload}, {condition}",
                )
                up = Axis("share of values up to it, %")
                svg = curves.draw(of[workload, condition], Axis(metric, "s"), up, name, heading, marked=False)
                panels.append(Panel(condition, index, svg))
        note = (
            "The share of all raw values that are at most so large: the steeper, the steadier; the tail is at the top."
        )
        at = view.workloads.index(workload)
        name = f"distribution-{metric}-{number}"
        found.append(Figure(name, Question.LATE, f"{metric}, whole distributions", workload, note, at, panels, False))
    return found


def fronts(view: View, up: str, key: Question) -> list[Figure]:
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
        above = _by_condition(_rows(view, other, up))
        for condition, across in _by_condition(_rows(view, workload, "throughput")).items():
            both, index = _both(view, across, above.get(condition, []), up, drawn), view.places.conditions[condition]
            if len(both) > 1:
                name = f"front-{up}-{number}-{index}"
                titles = ("throughput", FRONTS[up][1])
                heading = f"{titles[1]} over throughput of {workload}, {condition}"
                svg = points.draw(both, ("bit/s", FRONTS[up][0]), titles, name, heading)
                panels.append(Panel(condition, index, svg))
        if panels:
            front = "The dashed line joins the tunnels that no other tunnel beats in both: the Pareto front"
            note = f"{FRONTS[up][2]} {front}; one alone has no line."
            at, heading = view.workloads.index(workload), f"throughput and {FRONTS[up][1]}"
            name = f"fronts-{up}-{number}"
            found.append(Figure(name, key, heading, workload, note, at, panels, not found))
    return found


FRONTS = {
    "rtt": ("s", "round-trip time", "Up and left is slow, down and right is good."),
    "cost": ("s/B", "cost", "Up and left is slow and costly, down and right is good."),
}
"""Unit, words and reading of what is drawn over throughput."""


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
            f"{told(view, row)}\n{up}: {units.quantity(beside['median'], beside['unit'])} "
            f"{units.interval(beside['low'], beside['median'], beside['high'], beside['unit'])}",
            not is_baseline(row["stack"]),
            href(view, row),
        )
        for row in across
        if (beside := by_stack.get((row["run"], row["stack"])))
    ]


def _range(row: Mapping[str, Any]) -> Range:
    return Range(row["median"], row["low"], row["high"])


def _by_condition(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each condition, in their order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["condition"], []).append(row)
    return found


def _rows(view: View, workload: str, metric: str) -> list[dict[str, Any]]:
    return view.central.get((workload, metric), [])


def _curves(view: View, rows: Sequence[dict[str, Any]], key: str, members: Mapping[str, float]) -> list[Curve]:
    drawn: Callable[[tuple[str, str]], Mark] = marks(view).__getitem__
    groups: dict[tuple[str, str, str], list[Point]] = {}
    for row in rows:
        point = Point(members[row[key]], row["median"], row["low"], row["high"], told(view, row), href(view, row))
        groups.setdefault((row["run"], row["stack"], row["name"]), []).append(point)
    made = [
        Curve(name, drawn((run, stack)), sorted(dots, key=lambda point: point.x))
        for (run, stack, name), dots in groups.items()
    ]
    return made if any(len(curve.points) > 1 for curve in made) else []
