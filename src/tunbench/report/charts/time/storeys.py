"""Plots above each other over one time, such as what was carried and how late it was, with rules for what happened."""

from collections.abc import Sequence
from typing import NamedTuple

from tunbench.report import units
from tunbench.report.charts import axes, canvas, labels, legend
from tunbench.report.charts.canvas import WIDTH, Mark

LEFT, EDGE = 46, 12
"""Units left and right of the plots."""

TOP, HEIGHT, BETWEEN = 22, 110, 30
"""Units above a plot, of its height, and between the two."""

NAME = 15
"""Units of a line of names of rules."""


class TimeLine(NamedTuple):
    """Values over time of one stack, in seconds and in the SI unit of their storey."""

    mark: Mark
    points: Sequence[tuple[float, float]]


class Storey(NamedTuple):
    """A plot: its title, the unit of its values, and its lines."""

    title: str
    unit: str
    lines: Sequence[TimeLine]


class Rule(NamedTuple):
    """A vertical line through all plots at a moment, with the name of what happened then."""

    at: float
    name: str


class TimeAxis(NamedTuple):
    """What the time is counted in, and where it begins where that is not the first moment."""

    title: str = "seconds of the trial"
    start: float = 0.0


USUAL = TimeAxis()


def draw(
    storeys: Sequence[Storey],
    named: Sequence[tuple[str, Mark]],
    name: str,
    heading: str,
    rules: Sequence[Rule] = (),
    time: TimeAxis = USUAL,
) -> str:
    """The storeys from above with the rules through them, one axis of time below all, and the legend."""
    times = [at for storey in storeys for line in storey.lines for at, _ in line.points]
    last = max(times) * (1 + axes.MARGIN)
    across = axes.Span(time.start, last if last > time.start else time.start + 1.0, False)
    named_above, lines = _rule_names(rules, across)
    body, top = [], float(NAME * lines)
    for number, storey in enumerate(storeys):
        # The names stand between the first title and its plot.
        body.append(_storey(storey, across, top + TOP, 11 if not number else top + TOP - 8))
        top += HEIGHT + BETWEEN
    bottom = top - BETWEEN + TOP
    for rule, (text, line) in zip(rules, named_above, strict=True):
        # From its name down through the first plot, and through each of the others: not through their titles.
        body += [text, _rule(_x(across, rule.at), 2 + NAME * (line + 1), NAME * lines + TOP, len(storeys))]
    body.append(canvas.x_axis(across, LEFT, WIDTH - EDGE, bottom + 16, bottom, bottom + 4))
    body.append(canvas.text(WIDTH - EDGE, bottom + 32, time.title, "t", "end"))
    body.append(legend.draw(named, bottom + 50, lined=True))
    full = bottom + 50 + legend.height([one for one, _ in named])
    return canvas.svg(full, "".join(body), heading, name, "curves")


def _rule_names(rules: Sequence[Rule], across: axes.Span) -> tuple[list[tuple[str, int]], int]:
    """The name of each rule and its line, so that none hides another; and how many lines that makes."""
    ends: list[float] = []
    placed = []
    for rule in rules:
        width, x = labels.CHARACTER * len(rule.name), _x(across, rule.at)
        right = x + 4 + width <= WIDTH
        begins = x + 4 if right else x - 4 - width
        line = next((number for number, end in enumerate(ends) if end < begins), len(ends))
        ends[line : line + 1] = [begins + width + 4]
        text = canvas.text(x + 4 if right else x - 4, 11 + NAME * (line + 1), rule.name, "t", "" if right else "end")
        placed.append((text, line))
    return placed, len(ends)


def _rule(x: float, begins: float, first: float, number: int) -> str:
    """A line from a name above the first plot through it, and through each of the others."""
    tops = [first + index * (HEIGHT + BETWEEN) for index in range(number)]
    starts = [begins, *tops[1:]]
    return "".join(canvas.line(x, start, x, top + HEIGHT, "event") for start, top in zip(starts, tops, strict=True))


def _x(across: axes.Span, at: float) -> float:
    return LEFT + (WIDTH - LEFT - EDGE) * across.share(at)


def _storey(storey: Storey, across: axes.Span, top: float, title: float) -> str:
    values = [value for line in storey.lines for _, value in line.points]
    wide = axes.from_zero_or_wide(values).log
    scale = units.scale(max(values) if wide else sorted(values)[len(values) // 2], storey.unit)
    up = axes.from_zero_or_wide([value / scale.factor for value in values])

    def y(value: float) -> float:
        return top + HEIGHT * (1 - min(1.0, max(0.0, up.share(value / scale.factor))))

    log = ", logarithmic" if up.log else ""
    body = [
        canvas.text(0, title, f"{storey.title}, {scale.symbol}{log}", "t"),
        canvas.y_axis(up, LEFT, WIDTH - EDGE, top, top + HEIGHT),
        *(canvas.line(_x(across, tick), top, _x(across, tick), top + HEIGHT, "g") for tick in axes.marks(across)),
    ]
    for line in storey.lines:
        run = f' data-r="{line.mark.run}"' if line.mark.run else ""
        way = canvas.polyline([(_x(across, at), y(value)) for at, value in line.points])
        own = f'style="color:{line.mark.colour}" data-s="{line.mark.stack}"{run}'
        body.append(f'<g {own}><path class="l" d="{way}"/></g>')
    return "".join(body)
