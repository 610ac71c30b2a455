"""How stacks fare as the network gets worse: their main metrics over what profiles vary."""

from functools import partial

from tunbench.report import questions
from tunbench.report.charts import curves, sweeps
from tunbench.report.charts.curves import CurveAxis
from tunbench.report.charts.figure import MAX_UNFOLDED, Figure, Panel
from tunbench.report.charts.swept_curves import swept_curves
from tunbench.report.view import View

FEWEST_UNFOLDED = 3
"""Conditions from which on curves over them are unfolded: two points are no curve."""


def figures(view: View) -> list[Figure]:
    """For each workload: its main metrics over each term that profiles vary alone; else over the profiles in order."""
    swept = sweeps.of_profiles(view)
    axes_of = [
        (sweep, CurveAxis(sweep.title, sweep.unit), dict((name, x) for x, name in sweep.members)) for sweep in swept
    ]
    rest = [name for name in view.conditions if not any(name in members for *_, members in axes_of)]
    if len(rest) > 1:
        places = {name: float(index) for index, name in enumerate(rest)}
        axes_of.append((sweeps.Sweep("profile", "", ()), CurveAxis("", "", rest), places))
    metrics = [name for name in questions.followed() if axes_of and view.measuring(name)]
    found: list[Figure] = []
    for number, workload in enumerate(view.workloads):
        panels = []
        for metric in metrics:
            rows = view.central.get((workload, metric), [])
            for index, (sweep, axis, members) in enumerate(axes_of):
                drawn = swept_curves(view, [row for row in rows if row["condition"] in members], "condition", members)
                if drawn:
                    name = f"degrade-{number}-{metric}-{index}"
                    over = f" over {sweep.title}" if axis.title else ""
                    heading = f"{metric}{over}{', ' + sweep.where if sweep.where else ''}"
                    up = CurveAxis(metric, rows[0]["unit"])
                    draw = partial(curves.draw, drawn, axis, up, name, f"{heading}, {workload}")
                    panels.append(Panel(heading, -1, draw))
        if panels:
            unfolded = len(found) < MAX_UNFOLDED and len(view.conditions) >= FEWEST_UNFOLDED
            found.append(Figure(f"degrading-{number}", workload, "", "", number, panels, unfolded))
    return found
