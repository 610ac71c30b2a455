"""Charts with a curve for each stack: over what a sweep varies, or the whole distribution of its values."""

from collections.abc import Sequence
from typing import NamedTuple

from tunbench.report import units
from tunbench.report.charts import axes, canvas, legend
from tunbench.report.charts.canvas import WIDTH, Mark

LEFT, TOP, HEIGHT = 46, 22, 190
"""Units left of the plot and above it, and of its height."""

EDGE = 12
"""Units right of the plot."""


class Point(NamedTuple):
    """A point of a curve, in the units of the axes, with the interval around it, if any, and what it tells."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    words: str = ""
    href: str = ""


class Curve(NamedTuple):
    """The curve of one row."""

    name: str
    mark: Mark
    points: Sequence[Point]


class CurveAxis(NamedTuple):
    """A title, the SI unit of the values (empty: as they are), and the names of values that are places in an order."""

    title: str
    unit: str = ""
    names: Sequence[str] = ()


def draw(
    curves: Sequence[Curve], across: CurveAxis, up: CurveAxis, name: str, heading: str, marked: bool = True
) -> str:
    """The chart with its legend below. Points are `marked` where each is a measurement."""
    points = [point for curve in curves for point in curve.points]
    scales = [_scale(across, [point.x for point in points]), _scale(up, [point.y for point in points])]
    xs = [point.x / scales[0].factor for point in points]
    ys = [
        value / scales[1].factor for point in points for value in (point.y, point.low, point.high) if value is not None
    ]
    spans = [_across(across, xs), axes.from_zero_or_wide(ys) if marked else axes.Span(0, 100, False)]
    slanted = bool(across.names) and (max(map(len, across.names)) * 6.5 * len(across.names) > WIDTH - LEFT - EDGE)
    below = 26 + (14 * min(len(across.names), 14) if slanted else 0)
    bottom = TOP + HEIGHT
    body = [
        canvas.text(0, 11, _title(up, scales[1], spans[1]), "t"),
        canvas.y_axis(spans[1], LEFT, WIDTH - EDGE, TOP, bottom),
        _x_axis(across, spans[0], bottom, slanted),
        canvas.text(WIDTH - EDGE, bottom + below + 8, _title(across, scales[0], spans[0]), "t", "end"),
    ]
    for curve in curves:
        body.append(_curve(curve, spans, scales, marked))
    top = bottom + below + 22
    body.append(legend.draw([(curve.name, curve.mark) for curve in curves], top, lined=True))
    full = top + legend.height([curve.name for curve in curves])
    return canvas.svg(full, "".join(body), heading, name, "curves")


def _scale(axis: CurveAxis, values: Sequence[float]) -> units.Scale:
    if axis.names or not axis.unit:
        return units.Scale(1, "")
    sizes = sorted(value for value in values if value)
    return units.scale(sizes[len(sizes) // 2] if sizes else 0, axis.unit)


def _across(axis: CurveAxis, values: Sequence[float]) -> axes.Span:
    if axis.names:
        return axes.Span(-0.35, len(axis.names) - 0.65, False)
    return axes.around(values)


def _title(axis: CurveAxis, scale: units.Scale, span: axes.Span) -> str:
    return ", ".join([axis.title, *([scale.symbol] if scale.symbol else []), *(["logarithmic"] if span.log else [])])


def _x_axis(axis: CurveAxis, span: axes.Span, bottom: float, slanted: bool) -> str:
    if not axis.names:
        return canvas.x_axis(span, LEFT, WIDTH - EDGE, bottom + 16, TOP, bottom + 4)
    # Names that do not fit beside each other are numbers, which are explained below.
    found = [canvas.line(_x(span, at), TOP, _x(span, at), bottom + 4, "g") for at in range(len(axis.names))]
    for index, name in enumerate(axis.names):
        words = str(index + 1) if slanted else name
        found.append(canvas.text(_x(span, index), bottom + 16, words, "t", "middle"))
    if slanted:
        names = [f"{index}: {name}" for index, name in enumerate(axis.names, 1)][:13]
        more = [*names, f"… {len(axis.names)}: {axis.names[-1]}"] if len(axis.names) > len(names) else names
        found += [canvas.text(LEFT, bottom + 32 + 14 * index, words, "t") for index, words in enumerate(more)]
    return "".join(found)


def _x(span: axes.Span, value: float) -> float:
    return LEFT + (WIDTH - LEFT - EDGE) * span.share(value)


def _curve(curve: Curve, spans: Sequence[axes.Span], scales: Sequence[units.Scale], marked: bool) -> str:
    def place(x: float, y: float) -> tuple[float, float]:
        up = min(1, max(0, spans[1].share(y / scales[1].factor)))
        return _x(spans[0], x / scales[0].factor), TOP + HEIGHT * (1 - up)

    line = f'<path class="l" d="{canvas.polyline([place(point.x, point.y) for point in curve.points])}"/>'
    low = [place(point.x, point.low) for point in curve.points if point.low is not None]
    high = [place(point.x, point.high) for point in curve.points if point.high is not None]
    band = f'<path class="band" d="{canvas.polyline([*high, *reversed(low)], True)}"/>' if len(low) > 1 else ""
    run = f' data-r="{curve.mark.run}"' if curve.mark.run else ""
    own = f'style="color:{curve.mark.colour}" data-s="{curve.mark.stack}"{run}'
    body = [f"<g {own}>{band}{line}</g>"]
    for point in curve.points if marked else ():
        x, y = place(point.x, point.y)
        body.append(canvas.group(curve.mark, canvas.marker(curve.mark, x, y, 4), point.words, point.href))
    return "".join(body)
