"""Charts of one metric over another: a named point a stack, its intervals as a cross, and the Pareto front."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tunbench.report import axes, canvas, labels, legend, units
from tunbench.report.canvas import WIDTH, Mark

LEFT, TOP, HEIGHT, EDGE = 46, 22, 250, 10
"""Units left of the plot, above it, of its height and right of it."""


Place = Callable[[float, float], tuple[float, float]]
"""From values across and up to a place of the chart."""


class Range(NamedTuple):
    """A median and the interval around it, in an SI unit."""

    median: float
    low: float
    high: float


class Both(NamedTuple):
    """One stack by two metrics; `front` tells whether it may be on the front: tunnels may."""

    name: str
    mark: Mark
    across: Range
    up: Range
    told: str
    front: bool = True
    href: str = ""


def draw(stacks: Sequence[Both], units_of: tuple[str, str], titles: tuple[str, str], name: str, heading: str) -> str:
    """The chart; `units_of` and `titles` are those across and up."""
    shown = (
        units.scale(max(one.across.median for one in stacks), units_of[0]),
        units.scale(min(one.up.median for one in stacks), units_of[1]),
    )
    spans = [
        axes.around([value / shown[0].factor for one in stacks for value in one.across]),
        axes.around([value / shown[1].factor for one in stacks for value in one.up]),
    ]

    def at(across: float, up: float) -> tuple[float, float]:
        x = LEFT + (WIDTH - LEFT - EDGE) * spans[0].share(across / shown[0].factor)
        return x, TOP + HEIGHT * (1 - spans[1].share(up / shown[1].factor))

    words = [
        ", ".join([titles[index], shown[index].symbol, *(["logarithmic"] if spans[index].log else [])])
        for index in (0, 1)
    ]
    bottom = TOP + HEIGHT
    body = [
        canvas.text(0, 11, words[1], "t"),
        canvas.y_axis(spans[1], LEFT, WIDTH - EDGE, TOP, bottom),
        canvas.x_axis(spans[0], LEFT, WIDTH - EDGE, bottom + 16, TOP, bottom + 4),
        canvas.text(WIDTH - EDGE, bottom + 34, words[0], "t", "end"),
    ]
    best = [at(one.across.median, one.up.median) for one in front(stacks)]
    if len(best) > 1:
        body.append(f'<path class="front" d="{canvas.polyline(best)}"/>')
    places = _labels([at(one.across.median, one.up.median) for one in stacks], [one.name for one in stacks])
    for one, label in zip(stacks, places, strict=True):
        body.append(_stack(one, at, label))
    top = bottom + 52
    if all(places):
        return canvas.svg(bottom + 40, "".join(body), heading, name, "points")
    # A name that has no room beside its point is below the chart, as all others then are too.
    body.append(legend.draw([(one.name, one.mark) for one in stacks], top))
    return canvas.svg(top + legend.height([one.name for one in stacks]), "".join(body), heading, name, "points")


def front(stacks: Sequence[Both]) -> list[Both]:
    """The stacks that none is better than by both medians: more across and less up; by what they have across."""
    able = [one for one in stacks if one.front]
    best = [
        one
        for one in able
        if not any(
            (other.across.median >= one.across.median and other.up.median <= one.up.median)
            and (other.across.median, other.up.median) != (one.across.median, one.up.median)
            for other in able
        )
    ]
    return sorted(best, key=lambda one: one.across.median)


def _labels(points: Sequence[tuple[float, float]], names: Sequence[str]) -> list[labels.Label | None]:
    moved = [(x - LEFT, y - TOP) for x, y in points]
    placed = labels.place(moved, [labels.shortened(name) for name in names], WIDTH - LEFT, HEIGHT)
    return [label._replace(x=label.x + LEFT, y=label.y + TOP) if label else None for label in placed]


def _stack(one: Both, at: Place, label: labels.Label | None) -> str:
    x, y = at(one.across.median, one.up.median)
    parts = [
        canvas.line(*at(one.across.low, one.up.median), *at(one.across.high, one.up.median), "w"),
        canvas.line(*at(one.across.median, one.up.low), *at(one.across.median, one.up.high), "w"),
    ]
    if label and abs(label.y - y) > labels.HEIGHT:
        parts.append(canvas.line(x, y, label.x, label.y, "g"))
    parts.append(canvas.marker(one.mark, x, y, 5))
    if label:
        end = "" if label.right else "end"
        parts.append(canvas.text(label.x, label.y + 4, labels.shortened(one.name), "halo", end))
    return canvas.group(one.mark, "".join(parts), one.told, one.href)
