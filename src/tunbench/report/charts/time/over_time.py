"""Throughput and delay over the time of a trial, in one picture: what a load does to those who wait behind it."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import polars as pl

from tunbench.analysis.cells import WHOLE
from tunbench.report.charts.figure import Figure, Panel, marks
from tunbench.report.charts.time import storeys
from tunbench.report.charts.time.storeys import Rule, Storey, TimeLine
from tunbench.report.view import View

MOMENTS = 120
"""Points of a line at most: each is the median of all that was measured in its part of the time, over all trials."""

FEWEST = 5
"""Moments that a line of throughput needs to be one."""

DELAYS = ("rtt-idle", "rtt-up", "rtt-down", "rtt-both", "tcp-rtt", "one-way-delay")
"""Series of how late something was, of workloads that also say how much they carried."""

CARRIED = "throughput"
"""The series of what was carried."""

BESIDE = {"throughput-up": "rtt-up", "throughput-down": "rtt-down", "throughput-both": "rtt-both"}
"""What was carried in a phase as one value, and the series that lasted as long as the phase."""

HEADING, CARRIED_ALONE = "throughput and delay over time", "throughput over time"
"""What a picture is called with and without delays."""

PHASES = {"rtt-idle": "idle", "rtt-up": "load up", "rtt-down": "load down", "rtt-both": "load both ways"}
"""What is told of the moment at which a series begins that lasts for a phase."""

KEYS = ("workload", "condition", "run", "stack", "metric", "pair", "node")

Place = tuple[str, str]
"""A workload and a condition."""


class Lines(NamedTuple):
    """The lines of both storeys of a picture, each with its run and stack, and when each phase begins."""

    carried: dict[tuple[str, str], list[list[tuple[float, float]]]]
    late: dict[tuple[str, str], list[list[tuple[float, float]]]]
    phases: dict[str, float]


def figures(view: View) -> list[Figure]:
    """For each workload that carries something: a panel a condition, throughput above and delay below, a line a stack.

    A flow that nobody asked for its delay has the throughput alone.
    """
    found = _found(view)
    drawn = marks(view)
    made: list[Figure] = []
    for number, workload in enumerate(view.workloads):
        panels = []
        for index, condition in enumerate(view.conditions):
            lines = found.get((workload, condition))
            if lines and lines.carried:
                there = sorted({*lines.carried, *lines.late}, key=lambda key: (view.places.stacks[key[1]], key[0]))
                named = [(f"{stack} · {run}" if view.several else stack, drawn[run, stack]) for run, stack in there]
                plots = [
                    Storey(title, unit, [TimeLine(drawn[key], one) for key in there for one in own.get(key, ())])
                    for title, unit, own in (("throughput", "bit/s", lines.carried), ("delay", "s", lines.late))
                    if own
                ]
                heading = f"{_title([lines])} of {workload}, {condition}"
                rules = [Rule(at, PHASES[metric]) for metric, at in lines.phases.items()]
                draw = partial(storeys.draw, plots, named, f"time-{number}-{index}", heading, rules)
                panels.append(Panel(condition, index, draw))
        if panels:
            title = _title([lines for (name, _), lines in found.items() if name == workload and lines.carried])
            made.append(Figure(f"over-time-{number}", title, workload, NOTE, number, panels, unfolded=False))
    # Phases with and without a load say most; else the first flow is as good as any.
    phased = {workload for (workload, _), lines in found.items() if lines.phases}
    best = max(made, key=lambda one: one.about in phased, default=None)
    return [one._replace(unfolded=one is best) for one in made]


def _title(of: Iterable[Lines]) -> str:
    return HEADING if any(lines.late for lines in of) else CARRIED_ALONE


NOTE = (
    "The median over all trials of what was measured at each time of a trial. A level line is the one value that a "
    "phase has."
)


def _found(view: View) -> Mapping[Place, Lines]:
    found: dict[Place, Lines] = {}
    raw = view.samples.filter(pl.col("at").is_not_null() & pl.col("metric").is_in([*DELAYS, CARRIED]))
    spans = raw.group_by(KEYS, maintain_order=True).agg(first=pl.col("at").min(), last=pl.col("at").max())
    longest = raw.group_by("workload", "condition").agg(longest=pl.col("at").max())
    binned = raw.join(longest, on=["workload", "condition"]).with_columns(
        moment=(pl.col("at") / pl.col("longest").replace(0.0, 1.0) * (MOMENTS - 1)).round()
    )
    of_moments = binned.group_by(*KEYS, "moment", maintain_order=True).agg(pl.col("at", "value").median())
    of_lines = of_moments.sort("moment").group_by(KEYS, maintain_order=True).agg("at", "value")
    for workload, condition, run, stack, metric, _, _, at, values in of_lines.iter_rows():
        lines = found.setdefault((workload, condition), Lines({}, {}, {}))
        if metric != CARRIED or len(at) >= FEWEST:
            of = lines.carried if metric == CARRIED else lines.late
            of.setdefault((run, stack), []).append(list(zip(at, values, strict=True)))
        if metric in PHASES:
            lines.phases[metric] = min(at[0], lines.phases.get(metric, at[0]))
    for (workload, condition, run, stack), line in _levels(view, spans):
        if (workload, condition) in found:
            found[workload, condition].carried.setdefault((run, stack), []).append(line)
    return found


def _levels(view: View, spans: pl.DataFrame) -> Iterator[tuple[tuple[str, ...], list[tuple[float, float]]]]:
    """What each phase carried, as a line as long as the phase."""
    whole = view.values.filter(pl.col("metric").is_in(list(BESIDE)) & (pl.col("statistic") == WHOLE))
    medians = whole.group_by("workload", "condition", "run", "stack", "metric", maintain_order=True).agg(
        pl.col("value").median()
    )
    of_phase = {row[:5]: row[-2:] for row in spans.iter_rows()}
    for *place, metric, value in medians.iter_rows():
        if span := of_phase.get((*place, BESIDE[metric])):
            yield tuple(place), [(at, value) for at in span]
