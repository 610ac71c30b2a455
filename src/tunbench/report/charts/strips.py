"""Charts with a strip for each row: its name, its values with quantiles and interval, and its median, on one line."""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from tunbench.report import units
from tunbench.report.charts import axes, canvas, labels
from tunbench.report.charts.canvas import WIDTH, Mark

LINE, STRIP, HEAD = 15, 30, 40
"""Units of height: a line of a name, a row at least, and the axis above all rows."""

MIDDLE = 13
"""Units from a row's top down to the line that name, mark and median stand on, where the name is one line."""

BELOW = 8
"""Units from there down to the dots, which an interval would hide."""

EDGE = 12
"""Units left free on both sides of the plot, which hold half a mark."""

NAME_CHARACTERS = 20
"""Characters of a line of a name, which leave half of the width to the plot."""

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


class Plot(NamedTuple):
    """Where the plot of a chart begins and ends, and what its axis spans in a scale of the unit."""

    left: float
    right: float
    span: axes.Span
    shown: units.Scale
    unit: str

    def at(self, value: float) -> float:
        """The place of a value across the chart; of what lies beyond an end, that end."""
        share = self.span.share(value / self.shown.factor)
        return self.left + (self.right - self.left) * min(1, max(0, share))


def wants_log(rows: Sequence[Strip]) -> bool:
    """Whether a chart of these rows alone has a logarithmic axis."""
    return axes.around(_values(rows)).log


def bears_log(rows: Sequence[Strip]) -> bool:
    """Whether all that the rows show is above 0."""
    return min(_values(rows)) > 0


def draw(rows: Sequence[Strip], unit: str, title: str, name: str, heading: str, log: bool | None = None) -> str:
    """The chart. Its axis begins at 0, or is logarithmic where values are far apart; times need not begin at 0.

    `log` says whether it is logarithmic, where that does not follow from these rows alone.
    """
    shown = units.scale(statistics.median([row.median for row in rows if row.median] or [0]), unit)
    values = [value / shown.factor for value in _values(rows)]
    span = (axes.around if any(row.box for row in rows) else axes.from_zero_or_wide)(values, log)
    names = [_lines(row) for row in rows]
    left = labels.CHARACTER * max(len(line) for lines in names for line in lines) + EDGE
    right = WIDTH - labels.CHARACTER * max(len(units.quantity(row.median, unit)) for row in rows) - EDGE
    plot = Plot(left, right, span, shown, unit)
    heights = [STRIP + LINE * (len(lines) - 1) for lines in names]
    bottom = HEAD + sum(heights)
    words = ", ".join([title, *([shown.symbol] if shown.symbol else []), *(["logarithmic"] if span.log else [])])
    body = [canvas.text(0, 11, words, "t"), canvas.x_axis(span, left, right, HEAD - 11, HEAD - 6, bottom)]
    top = float(HEAD)
    for row, lines, height in zip(rows, names, heights, strict=True):
        body.append(_row(row, lines, plot, top, height))
        top += height
    return canvas.svg(bottom, "".join(body), heading, name, "strips")


def _lines(row: Strip) -> list[str]:
    return labels.wrapped(row.name, NAME_CHARACTERS).split("\n")


def _values(rows: Sequence[Strip]) -> list[float]:
    return [value for row in rows for value in _extremes(row)]


def _extremes(row: Strip) -> list[float]:
    base = [row.baseline] if row.baseline is not None and not row.box else []
    return [row.median, row.low, row.high, *row.values, *(row.box or ()), *base]


def _row(row: Strip, names: Sequence[str], plot: Plot, top: float, height: int) -> str:
    at, y = plot.at, MIDDLE + LINE * (len(names) - 1) / 2
    parts = [f'<rect class="h" width="{WIDTH}" height="{height}"/>']
    parts += [canvas.text(0, MIDDLE + 4 + LINE * index, words) for index, words in enumerate(names)]
    parts.append(canvas.text(WIDTH, y + 4, units.quantity(row.median, plot.unit), "", "end"))
    if row.baseline is not None and (not row.box or 0 <= plot.span.share(row.baseline / plot.shown.factor) <= 1):
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
