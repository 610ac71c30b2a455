"""One metric over throughput, a point a stack, and the tunnels that none beats in both: the Pareto front."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from tunbench.analysis.ratios import is_baseline
from tunbench.report import questions, units
from tunbench.report.charts import points
from tunbench.report.charts.canvas import Mark
from tunbench.report.charts.figure import Figure, Panel, address_of, by_condition, marks, words_of
from tunbench.report.charts.points import MedianInterval, StackPoint
from tunbench.report.view import View
from tunbench.runner.declare.metrics import Question


class Front(NamedTuple):
    """What the metric that is drawn over throughput is called, how the chart is read, and whose that metric must be."""

    words: str
    reading: str
    of_same_workload: bool = False


FRONTS = {
    Question.LATE: Front("round-trip time", "Up and left is slow, down and right is good."),
    Question.COSTLY: Front("cost", "Up and left is slow and costly, down and right is good.", of_same_workload=True),
}


def figures(view: View, question: Question) -> list[Figure]:
    """For each workload that tells how fast: what stands for a question over it, a panel a condition, with the front.

    The other metric is of the same workload, or of the first that has it: a round-trip time is measured without load.
    """
    found: list[Figure] = []
    front = FRONTS[question]
    fast, up = (questions.first_at_a_glance(one) for one in (Question.FAST, question))
    drawn, with_it = marks(view), view.measuring(up)
    for number, workload in enumerate(view.measuring(fast)):
        other = workload if workload in with_it else next(iter(with_it), "")
        if not other or (front.of_same_workload and other != workload):
            continue
        panels = []
        above = by_condition(view.central.get((other, up), []))
        for condition, across in by_condition(view.central.get((workload, fast), [])).items():
            both, index = _both(view, across, above.get(condition, []), up, drawn), view.places.conditions[condition]
            if len(both) > 1:
                name = f"front-{up}-{number}-{index}"
                heading = f"{front.words} over {fast} of {workload}, {condition}"
                units_of = (across[0]["unit"], above[condition][0]["unit"])
                draw = partial(points.draw, both, units_of, (fast, front.words), name, heading)
                panels.append(Panel(condition, index, draw))
        if panels:
            line = "The dashed line joins the tunnels that no other tunnel beats in both: the Pareto front"
            note = f"{front.reading} {line}; one alone has no line."
            at, heading = view.workloads.index(workload), f"{fast} and {front.words}"
            name = f"fronts-{up}-{number}"
            # Round-trip times have strips enough beside each other; of several conditions the strips say more.
            unfolded = not found and question == Question.COSTLY and len(panels) == 1
            found.append(Figure(name, heading, workload, note, at, panels, unfolded))
    return found


def _both(
    view: View,
    across: Sequence[dict[str, Any]],
    above: Sequence[dict[str, Any]],
    up: str,
    drawn: Mapping[tuple[str, str], Mark],
) -> list[StackPoint]:
    """The stacks of one condition, from its rows of either metric."""
    by_stack = {(row["run"], row["stack"]): row for row in above}
    if len(by_stack) < len(above) or len({(row["run"], row["stack"]) for row in across}) < len(across):
        # Several pairs or directions have no single place.
        return []
    return [
        StackPoint(
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


def _range(row: Mapping[str, Any]) -> MedianInterval:
    return MedianInterval(row["median"], row["low"], row["high"])
