"""Two plots above each other over one time: what was carried, and below it how late it was."""

from collections.abc import Sequence
from typing import NamedTuple

from tunbench.report import units
from tunbench.report.charts import axes, canvas, legend
from tunbench.report.charts.canvas import WIDTH, Mark

LEFT, EDGE = 46, 12
"""Units left and right of the plots."""

TOP, HEIGHT, BETWEEN = 22, 110, 30
"""Units above a plot, of its height, and between the two."""


class TimeLine(NamedTuple):
    """Values over time of one stack, in seconds and in the SI unit of their storey."""

    mark: Mark
    points: Sequence[tuple[float, float]]


class Storey(NamedTuple):
    """A plot: its title, the unit of its values, and its lines."""

    title: str
    unit: str
    lines: Sequence[TimeLine]


def draw(storeys: Sequence[Storey], named: Sequence[tuple[str, Mark]], name: str, heading: str) -> str:
    """The storeys from above, one axis of time below all of them, and the legend."""
    times = [at for storey in storeys for line in storey.lines for at, _ in line.points]
    across = axes.Span(0.0, max(times) * (1 + axes.MARGIN) or 1.0, False)
    body, top = [], 0.0
    for storey in storeys:
        body.append(_storey(storey, across, top + TOP))
        top += HEIGHT + BETWEEN
    bottom = top - BETWEEN + TOP
    body.append(canvas.x_axis(across, LEFT, WIDTH - EDGE, bottom + 16, bottom, bottom + 4))
    body.append(canvas.text(WIDTH - EDGE, bottom + 32, "seconds of the trial", "t", "end"))
    body.append(legend.draw(named, bottom + 50, lined=True))
    full = bottom + 50 + legend.height([one for one, _ in named])
    return canvas.svg(full, "".join(body), heading, name, "curves")


def _storey(storey: Storey, across: axes.Span, top: float) -> str:
    values = [value for line in storey.lines for _, value in line.points]
    scale = units.scale(sorted(values)[len(values) // 2], storey.unit)
    up = axes.from_zero_or_wide([value / scale.factor for value in values])

    def x(at: float) -> float:
        return LEFT + (WIDTH - LEFT - EDGE) * across.share(at)

    def y(value: float) -> float:
        return top + HEIGHT * (1 - min(1.0, max(0.0, up.share(value / scale.factor))))

    log = ", logarithmic" if up.log else ""
    body = [
        canvas.text(0, top - 8, f"{storey.title}, {scale.symbol}{log}", "t"),
        canvas.y_axis(up, LEFT, WIDTH - EDGE, top, top + HEIGHT),
        *(canvas.line(x(tick), top, x(tick), top + HEIGHT, "g") for tick in axes.marks(across)),
    ]
    for line in storey.lines:
        run = f' data-r="{line.mark.run}"' if line.mark.run else ""
        way = canvas.polyline([(x(at), y(value)) for at, value in line.points])
        own = f'style="color:{line.mark.colour}" data-s="{line.mark.stack}"{run}'
        body.append(f'<g {own}><path class="l" d="{way}"/></g>')
    return "".join(body)
