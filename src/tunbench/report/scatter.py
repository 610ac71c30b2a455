"""A chart of one metric over another, with the name of each point beside it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt
import polars as pl

from tunbench.report import axes, charts, labels, palette, units
from tunbench.report.charts import WIDTH, Row

HEIGHT = 264
"""Pixels of the plot."""

BOUNDS = ("median", "low", "high")


class Pair(NamedTuple):
    """One stack by two metrics."""

    across: Row
    up: Row


def draw(pairs: Sequence[Pair], units_of: tuple[str, str], titles: tuple[str, str]) -> charts.Chart:
    """A named point a stack, the intervals of both metrics as its cross; `units_of` and `titles` are across and up."""
    shown = (
        units.scale(max(pair.across.median for pair in pairs), units_of[0]),
        units.scale(min(pair.up.median for pair in pairs), units_of[1]),
    )
    table = pl.DataFrame(
        {
            "text": [labels.shortened(pair.across.stack) for pair in pairs],
            "square": [pair.across.square for pair in pairs],
            **{f"x_{name}": [getattr(pair.across, name) / shown[0].factor for pair in pairs] for name in BOUNDS},
            **{f"y_{name}": [getattr(pair.up, name) / shown[1].factor for pair in pairs] for name in BOUNDS},
        }
    )
    spans = [axes.around([value for name in BOUNDS for value in table[f"{which}_{name}"]]) for which in "xy"]
    return _layers(_labelled(table, *spans), spans, [f"{titles[i]}, {shown[i].symbol}" for i in (0, 1)])


def _layers(table: pl.DataFrame, spans: Sequence[axes.Span], titles: Sequence[str]) -> charts.Chart:
    base = alt.Chart(table)
    across, up = (axes.scale(span) for span in spans)
    x = alt.X("x_median:Q", scale=across, axis=axes.axis(spans[0], titles[0]))
    y = alt.Y("y_median:Q", scale=up, axis=axes.axis(spans[1], titles[1]))
    accent, soft = palette.light("accent"), palette.light("soft")
    cross: dict[str, Any] = {"color": accent, "strokeWidth": 1.5, "opacity": 0.6}
    leader = base.transform_filter("datum.far").mark_rule(color=soft, strokeWidth=0.75)
    return charts.panel(
        leader.encode(x=x, y=y, x2="label_x:Q", y2="label_y:Q"),
        base.mark_rule(**cross).encode(x=x, y=alt.Y("y_low:Q", scale=up), y2="y_high:Q"),
        base.mark_rule(**cross).encode(y=y, x=alt.X("x_low:Q", scale=across), x2="x_high:Q"),
        base.mark_point(color=accent, fill=accent, opacity=1, size=55).encode(x=x, y=y, shape=charts.shape()),
        *_texts(base.encode(x=alt.X("label_x:Q", scale=across), y=alt.Y("label_y:Q", scale=up), text="text:N")),
        height=HEIGHT,
    )


def _texts(base: alt.Chart) -> list[alt.Chart]:
    """The labels, each over a ground of the page's colour, so that lines end before it."""
    paper = palette.light("paper")
    styles = ({"color": paper, "stroke": paper, "strokeWidth": 4}, {"color": palette.light("ink")})
    return [
        base.transform_filter(f"datum.right === {str(right).lower()}").mark_text(
            **charts.mark(style, align="left" if right else "right", fontSize=12)
        )
        for style in styles
        for right in (True, False)
    ]


def _labelled(table: pl.DataFrame, across: axes.Span, up: axes.Span) -> pl.DataFrame:
    """The table with the place of each label in the axes' units, and whether it is far from its point."""
    points = [
        (across.share(x) * WIDTH, (1 - up.share(y)) * HEIGHT)
        for x, y in table.select("x_median", "y_median").iter_rows()
    ]
    placed = labels.place(points, table["text"].to_list(), WIDTH, HEIGHT)
    return table.with_columns(
        label_x=pl.Series([across.value(label.x / WIDTH) for label in placed]),
        label_y=pl.Series([up.value(1 - label.y / HEIGHT) for label in placed]),
        right=pl.Series([label.right for label in placed]),
        far=pl.Series([abs(label.y - point[1]) > labels.HEIGHT for label, point in zip(placed, points, strict=True)]),
    )
