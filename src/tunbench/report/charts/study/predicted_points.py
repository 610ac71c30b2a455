"""A chart of what was measured over what was published: the diagonal, where both are equal, and points around it."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tunbench.report import palette, units
from tunbench.report.charts import canvas, legend
from tunbench.report.charts.axes import Span
from tunbench.report.charts.canvas import WIDTH, Mark
from tunbench.report.charts.points import MedianInterval

LEFT, TOP, EDGE = 46, 22, 10
"""Units left of the plot, above it and right of it."""

SIDE = WIDTH - LEFT - EDGE
"""Units of a side of the plot, which is a square."""

BAND = 0.25
"""The share of a published number by which the band around the diagonal is wide on either side."""

ROOM = 1.15
"""The factor by which the axes go beyond the values: so far that the band around the outermost ones is seen."""

BARE = Mark(palette.BARE, 0, 0)


class PredictedPoint(NamedTuple):
    """One published number and what was measured of it; the one that calibrates is drawn hollow."""

    system: str
    mark: Mark
    published: float
    measured: MedianInterval
    words: str
    calibrates: bool = False


def draw(points: Sequence[PredictedPoint], models: Mapping[str, float], unit: str, name: str, heading: str) -> str:
    """The chart; a dashed line for the number that each of the `models` has for every system, by its name."""
    shown = units.scale(max(one.published for one in points), unit)
    span = _span(points, shown.factor)
    bottom = TOP + SIDE
    words = f", {shown.symbol}, logarithmic" if shown.symbol else ", logarithmic"
    body = [
        canvas.text(0, 11, f"measured{words}", "t"),
        f'<g style="color:{palette.BARE}"><path class="band" d="{canvas.polyline(_band(span), closed=True)}"/></g>',
        canvas.y_axis(span, LEFT, LEFT + SIDE, TOP, bottom),
        canvas.x_axis(span, LEFT, LEFT + SIDE, bottom + 16, TOP, bottom + 4),
        canvas.line(LEFT, bottom, LEFT + SIDE, TOP, "level"),
        *(_model(label, value / shown.factor, span) for label, value in models.items()),
        *(_point(one, span, shown.factor) for one in points),
        canvas.text(LEFT + SIDE, bottom + 34, f"published{words}", "t", "end"),
    ]
    entries = list({one.system: one.mark for one in points}.items())
    top = bottom + 56
    body.append(legend.draw(entries, top))
    return canvas.svg(top + legend.height([system for system, _ in entries]), "".join(body), heading, name, "points")


def _span(points: Sequence[PredictedPoint], factor: float) -> Span:
    """Of both axes, so that the diagonal is one."""
    values = [value for one in points for value in (one.published, one.measured.median)]
    return Span(min(values) / factor / ROOM, max(values) / factor * ROOM, True)


def _band(span: Span) -> list[tuple[float, float]]:
    """The corners of what is within BAND of the diagonal, in the plot."""
    wide = math.log(span.high / span.low)
    up, down = (min(1.0, abs(math.log(1 + sign * BAND)) / wide) for sign in (1, -1))
    shares = [(0.0, 0.0), (0.0, up), (1 - up, 1.0), (1.0, 1.0), (1.0, 1 - down), (down, 0.0)]
    return [_place(*share) for share in shares]


def _place(across: float, up: float) -> tuple[float, float]:
    return LEFT + SIDE * across, TOP + SIDE * (1 - up)


def _model(label: str, value: float, span: Span) -> str:
    """The line of a model, where the plot has its number."""
    share = span.share(value)
    if not 0 <= share <= 1:
        return ""
    (x, y), (to_x, _) = _place(0, share), _place(1, share)
    below = 12 if share > 0.95 else -4
    return canvas.line(x, y, to_x, y, "none") + canvas.text(x + 4, y + below, label, "t halo")


def _point(one: PredictedPoint, span: Span, factor: float) -> str:
    across = span.share(one.published / factor)
    low, middle, high = (
        min(1.0, max(0.0, span.share(max(value / factor, span.low))))
        for value in (one.measured.low, one.measured.median, one.measured.high)
    )
    x, y = _place(across, middle)
    whisker = canvas.line(*_place(across, low), *_place(across, high), "w")
    return canvas.group(one.mark, whisker + canvas.marker(one.mark, x, y, 5, "o" if one.calibrates else "k"), one.words)
