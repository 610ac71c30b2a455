"""Charts of one metric over another: a point a stack with its name or number, intervals as a cross, and a front."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tunbench.report import units
from tunbench.report.charts import axes, canvas, labels, legend, numbered_points
from tunbench.report.charts.canvas import WIDTH, Mark

LEFT, TOP, HEIGHT, EDGE = 46, 22, 250, 10
"""Units left of the plot, above it, of its height and right of it."""

MAX_NAMED = 100
"""Points that have a name or a number each: a chart has no room for more."""

PlaceOf = Callable[[float, float], tuple[float, float]]
"""From values across and up to a place of the chart."""


class MedianInterval(NamedTuple):
    """A median and the interval around it, in an SI unit."""

    median: float
    low: float
    high: float


class StackPoint(NamedTuple):
    """One stack by two metrics; `front` tells whether it may be on the front: tunnels may."""

    name: str
    mark: Mark
    across: MedianInterval
    up: MedianInterval
    words: str
    front: bool = True
    href: str = ""


def draw(
    stacks: Sequence[StackPoint], units_of: tuple[str, str], titles: tuple[str, str], name: str, heading: str
) -> str:
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
    names = _named(stacks, at) if len(stacks) <= MAX_NAMED else []
    if names:
        body += [_stack(one, at, words) for one, words in zip(stacks, names, strict=True)]
        return canvas.svg(bottom + 40, "".join(body), heading, name, "points")
    # Where one name has no room beside its point, all points have a number, which the legend explains.
    numbers, leads = _numbered(stacks, at) if len(stacks) <= MAX_NAMED else ([""] * len(stacks), "")
    body += [leads, *(_stack(one, at, words) for one, words in zip(stacks, numbers, strict=True))]
    entries = [(f"{index}  {one.name}" if any(numbers) else one.name, one.mark) for index, one in enumerate(stacks, 1)]
    top = bottom + 52
    body.append(legend.draw(entries, top))
    return canvas.svg(top + legend.height([name for name, _ in entries]), "".join(body), heading, name, "points")


def front(stacks: Sequence[StackPoint]) -> list[StackPoint]:
    """The stacks that none is better than by both medians: more across and less up; by what they have across."""
    best: list[StackPoint] = []
    for one in sorted(stacks, key=lambda one: (-one.across.median, one.up.median)):
        if one.front and (not best or one.up.median < best[-1].up.median or _medians(one) == _medians(best[-1])):
            best.append(one)
    return sorted(best, key=lambda one: one.across.median)


def _medians(one: StackPoint) -> tuple[float, float]:
    return one.across.median, one.up.median


def _named(stacks: Sequence[StackPoint], at: PlaceOf) -> list[str]:
    """The name of each stack beside its point; none where one of them has no room."""
    texts = [labels.shortened(one.name) for one in stacks]
    placed = labels.place_labels(_points(stacks, at), texts, WIDTH - LEFT, HEIGHT, _crosses(stacks, at))
    if None in placed:
        return []
    return [
        canvas.text(label.x + LEFT, label.y + TOP + 4, text, "halo", "" if label.right else "end")
        for label, text in zip(placed, texts, strict=True)
        if label
    ]


def _numbered(stacks: Sequence[StackPoint], at: PlaceOf) -> tuple[list[str], str]:
    """The number of each stack near its point, as far as there is room, and the lines that lead there."""
    blocks = numbered_points.place_blocks(_points(stacks, at), WIDTH - LEFT, HEIGHT, _crosses(stacks, at))
    found, leads = [""] * len(stacks), ""
    for block in blocks:
        if way := numbered_points.lead(block):
            x, y, to_x, to_y = way
            filters = " ".join(str(stacks[index].mark.stack) for index in block.members)
            line = canvas.line(x + LEFT, y + TOP, to_x + LEFT, to_y + TOP, "lead")
            leads += f'<g data-s="{filters}">{line}</g>'
        for index in block.members:
            x, y = numbered_points.at(block, index, len(stacks))
            found[index] = canvas.text(x + LEFT, y + TOP + 4, str(index + 1), "halo", "end")
    return found, leads


def _points(stacks: Sequence[StackPoint], at: PlaceOf) -> list[tuple[float, float]]:
    """The places of the medians, from the plot's top left."""
    places = (at(one.across.median, one.up.median) for one in stacks)
    return [(x - LEFT, y - TOP) for x, y in places]


def _crosses(stacks: Sequence[StackPoint], at: PlaceOf) -> list[labels.Box]:
    """What the intervals cover, from the plot's top left."""
    found = []
    for one in stacks:
        (left, y), (right, _) = (at(value, one.up.median) for value in one.across[1:])
        (x, bottom), (_, top) = (at(one.across.median, value) for value in one.up[1:])
        found += [labels.Box(left, y - 1, right, y + 1), labels.Box(x - 1, top, x + 1, bottom)]
    return [labels.Box(box.left - LEFT, box.top - TOP, box.right - LEFT, box.bottom - TOP) for box in found]


def _stack(one: StackPoint, at: PlaceOf, words: str) -> str:
    x, y = at(one.across.median, one.up.median)
    cross = [
        canvas.line(*at(one.across.low, one.up.median), *at(one.across.high, one.up.median), "w"),
        canvas.line(*at(one.across.median, one.up.low), *at(one.across.median, one.up.high), "w"),
    ]
    return canvas.group(one.mark, "".join(cross) + canvas.marker(one.mark, x, y, 5) + words, one.words, one.href)
