"""The forest plot of a comparison: the shift of each cell with its interval, around no change."""

from collections.abc import Sequence
from typing import NamedTuple

import altair as alt
import polars as pl

from tunbench.analysis.compare.cell_change import BETTER, DIFFERENT, WORSE, Row
from tunbench.report.charts import altair_style, axes, labels, palette
from tunbench.report.tables import changes

MOST = 40
"""Cells in one chart; more would be higher than a screen or two, and the table has them."""

LINE = 30
"""Characters of a line of a label."""

ROOM = 1.08
"""How much longer the axis is, so that no mark touches its end."""


class Shown(NamedTuple):
    """A row of the plot, in percent; `text` is the verdict where a difference is shown, else empty."""

    label: str
    value: float
    low: float
    high: float
    shape: str
    text: str


def plottable(rows: Sequence[Row]) -> list[Row]:
    """The rows that have a relative shift, as many as fit."""
    return [row for row in rows if row.relative is not None][:MOST]


def plot(rows: Sequence[Row]) -> alt.LayerChart:
    """A row a cell: the relative shift as a point on its interval; a triangle is worse, a circle is not.

    The rows are those of `plottable`, at least one. An open mark is a difference that is not shown.
    """
    shown = [_shown(row) for row in rows]
    table = pl.DataFrame(shown, schema=list(Shown._fields), orient="row")
    span = axes.around([0.0, *(ROOM * value for one in shown for value in (one.low, one.high))])
    scale, order = axes.scale(span), table["label"].unique(maintain_order=True).to_list()
    # The page's type may be wider than the one that the chart is laid out with.
    room = labels.CHARACTER * max(len(line) for one in shown for line in one.label.split("\n"))
    names = alt.Axis(
        title=None, labelExpr=altair_style.LINES, labelLimit=400, minExtent=room, domain=False, ticks=False
    )
    base = alt.Chart(table).encode(y=alt.Y("label:N", sort=order, axis=names))
    accent, soft, paper, ink = (palette.light(name) for name in ("accent", "soft", "paper", "ink"))
    none = alt.Chart(pl.DataFrame({"none": [0.0]})).mark_rule(color=soft, strokeDash=[4, 3])
    marks = alt.Shape(
        "shape:N", scale=alt.Scale(domain=["worse", "other"], range=["triangle-up", "circle"]), legend=None
    )
    x = alt.X("value:Q", scale=scale, axis=axes.axis(span, "change from A to B, %"))
    filled, hollow = base.transform_filter("datum.text != ''"), base.transform_filter("datum.text == ''")
    return altair_style.panel(
        none.encode(x=alt.X("none:Q", scale=scale)),
        base.mark_rule(color=accent, strokeWidth=2).encode(x=alt.X("low:Q", scale=scale), x2="high:Q"),
        hollow.mark_point(color=accent, fill=paper, opacity=1, size=60).encode(x=x, shape=marks),
        filled.mark_point(color=accent, fill=accent, opacity=1, size=60).encode(x=x, shape=marks),
        filled.mark_text(align="left", fontSize=12, color=ink).encode(
            x=alt.value(altair_style.WIDTH + 8), text="text:N"
        ),
        height=sum(max(26, 8 + altair_style.LINE * (one.label.count("\n") + 1)) for one in shown),
    )


def _shown(row: Row) -> Shown:
    names = (row.stack, " · ".join((row.condition, row.workload, changes.named(row))))
    label = "\n".join(labels.wrapped(name, LINE) for name in names)
    value, low, high = (100 * (bound or 0.0) for bound in (row.relative, row.relative_low, row.relative_high))
    shown = row.verdict in (BETTER, WORSE, DIFFERENT)
    shape = "worse" if row.direction == WORSE else "other"
    return Shown(label, value, low, high, shape, row.verdict if shown else "")
