"""Charts with a strip for each row: its name and median above, its values, quantiles and interval below."""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from tunbench.report import units
from tunbench.report.charts import axes, canvas, labels
from tunbench.report.charts.canvas import WIDTH, Mark

LINE, STRIP, HEAD = 15, 25, 40
"""Units of height: a line of a name, the strip below it, and the axis above all rows."""

BELOW = 8
"""Units from the middle of a strip down to its dots, which an interval would hide."""

EDGE = 8
"""Units left free beside the plot."""

NAME_CHARACTERS = 40
"""Characters of a line of a name that leave room for the median beside it."""

MAX_DOTS = 60
"""Values of a series that are shown as dots each; more are shown by their quantiles alone."""

FEWEST_FOR_QUANTILES = 8
"""Values of a series from which on their quantiles are shown."""


class Box(NamedTuple):
    """Quantiles of raw values, in an SI unit: the 5th, 25th, 75th, 95th and 99th percentile."""

    p5: float
    p25: float
    p75: float
    p95: float
    p99: float


class Strip(NamedTuple):
    """One row in an SI unit: its median with its interval, values as dots, quantiles, and the value of `none`."""

    name: str
    mark: Mark
    median: float
    low: float
    high: float
    values: Sequence[float]
    words: str
    box: Box | None = None
    baseline: float | None = None
    href: str = ""


def draw(rows: Sequence[Strip], unit: str, title: str, name: str, heading: str) -> str:
    """The chart. Its axis begins at 0, or is logarithmic where values are far apart; times need not begin at 0."""
    shown = units.scale(statistics.median([row.median for row in rows if row.median] or [0]), unit)
    values = [value / shown.factor for row in rows for value in _extremes(row)]
    span = axes.around(values) if any(row.box for row in rows) else axes.from_zero_or_wide(values)
    heights = [LINE * (labels.wrapped(row.name, NAME_CHARACTERS).count("\n") + 1) + STRIP for row in rows]
    bottom = HEAD + sum(heights)
    words = ", ".join([title, *([shown.symbol] if shown.symbol else []), *(["logarithmic"] if span.log else [])])
    body = [canvas.text(0, 11, words, "t"), canvas.x_axis(span, EDGE, WIDTH - EDGE, HEAD - 11, HEAD - 6, bottom)]
    top = float(HEAD)
    for row, height in zip(rows, heights, strict=True):
        body.append(_row(row, span, shown, unit, top, height))
        top += height
    return canvas.svg(bottom, "".join(body), heading, name, "strips")


def _extremes(row: Strip) -> list[float]:
    base = [row.baseline] if row.baseline is not None and not row.box else []
    return [row.median, row.low, row.high, *row.values, *(row.box or ()), *base]


def _row(row: Strip, span: axes.Span, shown: units.Scale, unit: str, top: float, height: int) -> str:
    def at(value: float) -> float:
        return EDGE + (WIDTH - 2 * EDGE) * min(1, max(0, span.share(value / shown.factor)))

    y = height - 16.0
    names = labels.wrapped(row.name, NAME_CHARACTERS).split("\n")
    parts = [f'<rect class="h" width="{WIDTH}" height="{height}"/>']
    parts += [canvas.text(0, 11 + LINE * index, words, "halo") for index, words in enumerate(names)]
    parts.append(canvas.text(WIDTH, 11, units.quantity(row.median, unit), "halo", "end"))
    if row.baseline is not None and (not row.box or 0 <= span.share(row.baseline / shown.factor) <= 1):
        parts.append(canvas.line(at(row.baseline), y - 8, at(row.baseline), y + 8, "ref"))
    if row.box:
        left, right = at(row.box.p25), at(row.box.p75)
        parts.append(canvas.line(at(row.box.p5), y, at(row.box.p95), y, "w"))
        parts.append(
            f'<rect class="b" x="{canvas.number(left)}" y="{canvas.number(y - 6)}" '
            f'width="{canvas.number(max(right - left, 1))}" height="12" rx="1.5"/>'
        )
        x = at(row.box.p99)
        parts.append(f'<path class="q" d="{canvas.polyline([(x, y - 4), (x + 4, y), (x, y + 4), (x - 4, y)], True)}"/>')
    if row.values:
        parts.append(f'<path class="d" d="{canvas.dots([at(value) for value in row.values], y + BELOW)}"/>')
    if row.low != row.high:
        parts.append(canvas.line(at(row.low), y, at(row.high), y, "i"))
    parts.append(canvas.marker(row.mark, at(row.median), y))
    more = f' transform="translate(0 {canvas.number(top)})" data-h="{height}"'
    return canvas.group(row.mark, "".join(parts), row.words, row.href, more)
