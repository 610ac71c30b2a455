"""The charts of a report. Each is drawn from rows of plain values, and none says anything by colour alone."""

import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import altair as alt
import polars as pl

from tunbench.report import axes, labels, palette, units

WIDTH = 280
"""Pixels of a panel's plot; with its labels it is as wide as a telephone held upright can show."""

ROW = 30
"""Pixels of a row at least."""

MANY, WIDE = 20, 40
"""Stacks of which labels get lines of so many characters."""

LINE = 15
"""Pixels of a line of a row's label."""

LINES = "split(datum.label, '\\n')"

Chart = alt.LayerChart


class Row(NamedTuple):
    """One stack in a chart: its median, its interval and its trials' values, in an SI unit; `square` marks Ethernet."""

    stack: str
    square: bool
    median: float
    low: float
    high: float
    values: Sequence[float] = ()
    baseline: float | None = None


class Spread(NamedTuple):
    """The quantiles of one stack's raw values, in an SI unit."""

    stack: str
    p5: float
    p25: float
    p50: float
    p75: float
    p95: float
    p99: float


class Heat(NamedTuple):
    """One cell of a heat map: a ratio, or None and a word that says why there is none."""

    stack: str
    condition: str
    ratio: float | None
    word: str


def intervals(rows: Sequence[Row], unit: str, title: str) -> Chart:
    """A row a stack: each trial as a faint dot, the median as a point on its interval, `none` as a vertical line."""
    shown = units.scale(statistics.median(row.median for row in rows), unit)
    span = axes.from_zero_or_wide([value / shown.factor for row in rows for value in (row.low, row.high, *row.values)])
    table = pl.DataFrame(
        {
            "stack": stack_labels(rows),
            "square": [row.square for row in rows],
            **{name: [getattr(row, name) / shown.factor for row in rows] for name in ("median", "low", "high")},
            "baseline": [None if row.baseline is None else row.baseline / shown.factor for row in rows],
            "text": [units.quantity(row.median, unit) for row in rows],
        },
        schema_overrides={"baseline": pl.Float64},
    )
    trials = [
        (name, value / shown.factor) for name, row in zip(stack_labels(rows), rows, strict=True) for value in row.values
    ]
    dots = pl.DataFrame(trials, schema={"stack": pl.String, "value": pl.Float64}, orient="row")
    scale, axis = axes.scale(span), axes.axis(span, f"{title}, {shown.symbol}")
    base = alt.Chart(table).encode(y=_rows(table))
    accent, soft = palette.light("accent"), palette.light("soft")
    return panel(
        base.mark_tick(color=soft, thickness=1, height=_row(rows), opacity=0.8).encode(
            x=alt.X("baseline:Q", axis=axis, scale=scale)
        ),
        alt.Chart(dots)
        .mark_circle(color=soft, opacity=0.45, size=22, yOffset=9)
        .encode(y=_rows(table), x=alt.X("value:Q", scale=scale)),
        base.mark_rule(color=accent, strokeWidth=3).encode(x=alt.X("low:Q", scale=scale), x2="high:Q"),
        base.mark_point(color=accent, fill=accent, opacity=1, size=60).encode(
            x=alt.X("median:Q", scale=scale), shape=shape()
        ),
        *_names(table),
        _beside(base),
        height=_row(rows) * len(rows),
    )


def spreads(rows: Sequence[Spread], unit: str, title: str) -> Chart:
    """A row a stack: a line from the 5th to the 95th percentile, a box around the median, a diamond at the 99th."""
    names = Spread._fields[1:]
    shown = units.scale(min(row.p50 for row in rows), unit)
    table = pl.DataFrame(
        {
            "stack": stack_labels(rows),
            **{name: [getattr(row, name) / shown.factor for row in rows] for name in names},
            "text": [units.quantity(row.p50, unit) for row in rows],
        }
    )
    span = axes.around([value for name in names for value in table[name]])
    scale = axes.scale(span)
    base = alt.Chart(table).encode(y=_rows(table))
    accent, ink, paper = (palette.light(name) for name in ("accent", "ink", "paper"))
    return panel(
        base.mark_rule(color=accent, strokeWidth=1.5).encode(
            x=alt.X("p5:Q", scale=scale, axis=axes.axis(span, f"{title}, {shown.symbol}")), x2="p95:Q"
        ),
        base.mark_bar(color=accent, height=12).encode(x=alt.X("p25:Q", scale=scale), x2="p75:Q"),
        base.mark_tick(color=paper, thickness=4, height=20, opacity=1).encode(x=alt.X("p50:Q", scale=scale)),
        base.mark_tick(color=ink, thickness=2, height=20, opacity=1).encode(x=alt.X("p50:Q", scale=scale)),
        base.mark_point(shape="diamond", color=ink, fill=paper, size=45, opacity=1).encode(
            x=alt.X("p99:Q", scale=scale)
        ),
        *_names(table),
        _beside(base),
        height=_row(rows) * len(rows),
    )


def heat(cells: Sequence[Heat]) -> Chart:
    """Stacks by conditions: the ratio as a number in each cell, which is the fuller the nearer the ratio is to 1."""
    table = pl.DataFrame(
        {
            "stack": stack_labels(cells),
            "condition": [labels.wrapped(cell.condition, 12) for cell in cells],
            "fill": [min(cell.ratio or 0.0, 1.0) for cell in cells],
            "text": [units.number(cell.ratio, 2) if cell.ratio is not None else cell.word for cell in cells],
            "missing": [cell.ratio is None for cell in cells],
        }
    )
    columns, rows = table["condition"].unique(maintain_order=True), table["stack"].unique(maintain_order=True)
    top = alt.Axis(title=None, orient="top", labelAngle=0, labelExpr=LINES, domain=False, ticks=False, labelPadding=8)
    base = alt.Chart(table).encode(y=_rows(table), x=alt.X("condition:N", sort=columns.to_list(), axis=top))
    line, ink, soft = (palette.light(name) for name in ("line", "ink", "soft"))
    fullness = alt.Scale(domain=[0, 1], range=[0.04, 1])
    return panel(
        base.transform_filter("!datum.missing")
        .mark_rect(color=palette.light("heat"), stroke=line)
        .encode(fillOpacity=alt.FillOpacity("fill:Q", scale=fullness, legend=None)),
        base.transform_filter("datum.missing").mark_rect(fill="transparent", stroke=soft, strokeDash=[3, 3]),
        base.mark_text(fontSize=13, color=ink).encode(text="text:N"),
        *_names(table),
        height=_row(cells) * len(rows),
        width=92 * len(columns),
    )


def panel(*layers: alt.Chart, height: float, width: float = WIDTH) -> Chart:
    """The layers, one over the other, in a plot of this size in pixels."""
    return alt.LayerChart(layer=list(layers)).properties(width=width, height=height)


def stack_labels(rows: Sequence[Row] | Sequence[Spread] | Sequence[Heat]) -> list[str]:
    """The labels of the rows: of many, in lines as long as a screen is wide, so that the chart is not too high."""
    line = WIDE if len({row.stack for row in rows}) > MANY else labels.LINE
    return [labels.wrapped(row.stack, line) for row in rows]


def _row(rows: Sequence[Row] | Sequence[Spread] | Sequence[Heat]) -> float:
    """Pixels of a row that has room for the longest label."""
    return max(ROW, 8 + LINE * max(name.count("\n") + 1 for name in stack_labels(rows)))


def _rows(table: pl.DataFrame) -> alt.Y:
    axis = alt.Axis(title=None, labels=False, domain=False, ticks=False)
    return alt.Y("stack:N", sort=table["stack"].unique(maintain_order=True).to_list(), axis=axis)


def _names(table: pl.DataFrame) -> list[alt.Chart]:
    """The names of rows left of the plot, in the middle of their rows however many lines they have."""
    names = table.select("stack").unique(maintain_order=True)
    style = {"align": "right", "lineBreak": "\n", "lineHeight": LINE, "fontSize": 12, "color": palette.light("ink")}
    return [
        alt.Chart(names)
        .transform_filter(f"length(split(datum.stack, '\\n')) == {count + 1}")
        .mark_text(**mark(style, dy=-LINE / 2 * count))
        .encode(y=_rows(table), x=alt.value(-10), text="stack:N")
        for count in sorted({name.count("\n") for name in names["stack"]})
    ]


def _beside(base: alt.Chart) -> alt.Chart:
    """The median in words, right of the plot."""
    words = base.mark_text(align="left", fontSize=12, color=palette.light("ink"))
    return cast(alt.Chart, words.encode(x=alt.value(WIDTH + 8), text="text:N"))


def mark(*options: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Options of a mark, put together."""
    return {name: value for some in (*options, more) for name, value in some.items()}


def shape() -> alt.Shape:
    """The shape of a point: a square where its stack runs over Ethernet."""
    return alt.Shape("square:N", scale=alt.Scale(domain=[False, True], range=["circle", "square"]), legend=None)
