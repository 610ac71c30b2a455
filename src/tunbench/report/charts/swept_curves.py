"""The curves of charts over what a sweep varies."""

from collections.abc import Mapping, Sequence
from typing import Any

from tunbench.report.charts.curves import Curve, Point
from tunbench.report.charts.figure import address_of, marks, words_of
from tunbench.report.view import View


def swept_curves(view: View, rows: Sequence[dict[str, Any]], key: str, members: Mapping[str, float]) -> list[Curve]:
    """A curve for each row: its medians over what the values of its column `key` stand for; none of points alone."""
    drawn = marks(view)
    groups: dict[tuple[str, str, str], list[Point]] = {}
    for row in rows:
        point = Point(
            members[row[key]], row["median"], row["low"], row["high"], words_of(view, row), address_of(view, row)
        )
        groups.setdefault((row["run"], row["stack"], row["name"]), []).append(point)
    made = [
        Curve(name, drawn[run, stack], sorted(dots, key=lambda point: point.x))
        for (run, stack, name), dots in groups.items()
    ]
    return made if any(len(curve.points) > 1 for curve in made) else []
