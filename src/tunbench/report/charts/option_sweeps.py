"""How stacks fare as a workload asks for more: its main metrics over the option that its workloads vary."""

from functools import partial

import polars as pl

from tunbench.analysis.cells import CENTRAL
from tunbench.report import questions
from tunbench.report.charts import curves, sweeps
from tunbench.report.charts.curves import CurveAxis
from tunbench.report.charts.figure import Figure, Panel, by_condition
from tunbench.report.charts.swept_curves import swept_curves
from tunbench.report.view import View
from tunbench.runner.declare.metrics import Question


def figures(view: View) -> list[Figure]:
    """For each option that workloads vary alone: their main metrics over it, a panel a condition."""
    found: list[Figure] = []
    unfolded_metrics = [questions.first_at_a_glance(one) for one in (Question.FAST, Question.LATE)]
    for number, sweep in enumerate(sweeps.of_workloads(view)):
        members = {name: x for x, name in sweep.members}
        kept = view.cells.filter(pl.col("workload").is_in(list(members)) & pl.col("statistic").is_in(CENTRAL))
        there = set(kept["metric"].to_list())
        for metric in [name for name in questions.followed_over_options() if name in there]:
            rows = list(kept.filter(pl.col("metric") == metric).iter_rows(named=True))
            panels = []
            for condition, here in by_condition(rows).items():
                index = view.places.conditions[condition]
                drawn = swept_curves(view, here, "workload", members)
                if drawn:
                    name, heading = f"option-{number}-{metric}-{index}", f"{metric} over {sweep.title}, {condition}"
                    axis = CurveAxis(sweep.title, sweep.unit)
                    draw = partial(curves.draw, drawn, axis, CurveAxis(metric, rows[0]["unit"]), name, heading)
                    panels.append(Panel(condition, index, draw))
            if panels:
                about = f"{sweep.where}, over {sweep.title}"
                name = f"over-{number}-{metric}"
                unfolded = metric in unfolded_metrics
                found.append(Figure(name, metric, about, "", -1, panels, unfolded))
    return found
