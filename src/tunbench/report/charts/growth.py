"""How what is measured grows with the number of nodes: a curve a stack, and its exponent beside its name."""

from functools import partial

from tunbench.analysis.growth import Growth
from tunbench.report.charts import curves
from tunbench.report.charts.curves import Curve, CurveAxis, Point
from tunbench.report.charts.figure import Figure, Panel, marks
from tunbench.report.growth_wording import exponent, named, of_runs
from tunbench.report.view import View


def figures(view: View) -> list[Figure]:
    """For each metric that grows, and each condition and workload of it, its medians over the number of nodes."""
    panels: dict[str, dict[tuple[str, str], list[tuple[str, Growth]]]] = {}
    for run, one in of_runs(view):
        panels.setdefault(one.metric, {}).setdefault((one.condition, one.workload), []).append((run, one))
    return [
        Figure(
            f"growth-{metric}",
            metric,
            "over the number of nodes",
            "The exponent of the number of nodes stands beside the name: 0 is no growth, 1 in proportion.",
            -1,
            [_panel(view, metric, number, *place, some) for number, (place, some) in enumerate(of_metric.items())],
            True,
        )
        for metric, of_metric in panels.items()
    ]


def _panel(
    view: View, metric: str, number: int, condition: str, workload: str, some: list[tuple[str, Growth]]
) -> Panel:
    drawn = marks(view)
    lines = [
        Curve(
            f"{named(view, run, one)}: {exponent(one)}",
            drawn[run if view.several else "", one.stack],
            [Point(n, y) for n, y in one.sizes.items()],
        )
        for run, one in some
    ]
    heading = f"{workload}, {condition}"
    up = CurveAxis(metric, some[0][1].unit)
    return Panel(heading, -1, partial(curves.draw, lines, CurveAxis("nodes"), up, f"growth-{metric}-{number}", heading))
