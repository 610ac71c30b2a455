"""Whole distributions of series: the share of values up to each value."""

from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl

from tunbench.report import questions
from tunbench.report.charts import curves
from tunbench.report.charts.curves import Curve, CurveAxis, Point
from tunbench.report.charts.figure import Figure, Panel, marks
from tunbench.report.view import View
from tunbench.runner.declare.metrics import Question

SHARES = sorted({*(index / 50 for index in range(51)), 0.99, 0.995, 0.999})
"""The shares of a distribution at which its curve has a point."""

MIN_VALUES = 20
"""Raw values from which on a distribution is drawn."""


def figures(view: View) -> list[Figure]:
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
        groups = kept.group_by(keys, maintain_order=True).agg("value").filter(pl.col("value").list.len() >= MIN_VALUES)
        of: dict[tuple[str, str], list[Curve]] = {}
        for workload, condition, run, stack, name, values in groups.iter_rows():
            xs = quantiles(values)
            dots = [Point(x, 100 * share) for x, share in zip(xs, SHARES, strict=True)]
            of.setdefault((workload, condition), []).append(Curve(name, drawn[run, stack], dots))
        found += _of_metric(view, metric, of)
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


def _of_metric(view: View, metric: str, of: Mapping[tuple[str, str], list[Curve]]) -> list[Figure]:
    found: list[Figure] = []
    there = {workload for workload, _ in of}
    for number, workload in enumerate(name for name in view.workloads if name in there):
        panels = []
        for index, condition in enumerate(view.conditions):
            if (workload, condition) in of:
                name = f"ecdf-{metric}-{number}-{index}"
                heading = f"distribution of {metric} of {workload}, {condition}"
                up = CurveAxis("share of values up to it, %")
                across, drawn = CurveAxis(metric, "s"), of[workload, condition]
                draw = partial(curves.draw, drawn, across, up, name, heading, marked=False)
                panels.append(Panel(condition, index, draw))
        note = (
            "The share of all raw values that are at most so large: the steeper, the steadier; the tail is at the top."
        )
        at = view.workloads.index(workload)
        name = f"distribution-{metric}-{number}"
        found.append(Figure(name, f"{metric}, whole distributions", workload, note, at, panels, False))
    return found
