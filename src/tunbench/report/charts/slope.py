"""A slope chart: published ranks on the left, measured ones on the right, and a line for each system."""

from collections.abc import Sequence
from typing import NamedTuple, cast

import altair as alt
import polars as pl

from tunbench.report.charts import altair_style, labels, palette

WIDTH = 110
"""Pixels between both sides; with their labels the chart is as wide as a telephone held upright can show."""

ROW = 22
"""Pixels from one rank to the next."""

HEAD = 26
"""Pixels above the first rank."""

TITLES = ("published", "measured")


class Slope(NamedTuple):
    """One system: its rank and its value in words on both sides, the best rank 1."""

    system: str
    published_rank: float
    measured_rank: float
    published: str
    measured: str

    @property
    def moved(self) -> bool:
        """Whether both sides rank it differently."""
        return self.published_rank != self.measured_rank


def draw(slopes: Sequence[Slope]) -> altair_style.Chart:
    """A line for each system; one whose rank differs is thick, and dashed where it was measured to be worse."""
    left = _places([(one.published_rank, one.measured_rank) for one in slopes])
    right = _places([(one.measured_rank, one.published_rank) for one in slopes])
    table = pl.DataFrame(
        {
            "left": [HEAD + ROW * place for place in left],
            "right": [HEAD + ROW * place for place in right],
            "kind": [_kind(one) for one in slopes],
            "published": [f"{labels.shortened(one.system)}  {one.published}" for one in slopes],
            "measured": [one.measured for one in slopes],
        }
    )
    height = HEAD + ROW * len(slopes)
    scale = alt.Scale(domain=[height, 0], range=[height, 0])
    base = alt.Chart(table)
    ends = (("left", 0.0), ("right", float(WIDTH)))
    return altair_style.panel(
        *(_line(base, kind, scale) for kind in ("same", "better", "worse")),
        *(_end(base, side, x, scale) for side, x in ends),
        _label(base, "left", "published", -10, "right", scale),
        _label(base, "right", "measured", WIDTH + 10, "left", scale),
        *(
            _title(title, x, align)
            for title, x, align in zip(TITLES, (-10, WIDTH + 10), ("right", "left"), strict=True)
        ),
        height=height,
        width=WIDTH,
    )


def told(slopes: Sequence[Slope]) -> str:
    """The chart in words, for those who cannot see it."""
    return "; ".join(
        f"{one.system}: published {one.published}, rank {one.published_rank:g}; "
        f"measured {one.measured}, rank {one.measured_rank:g}"
        for one in slopes
    )


def _places(ranks: Sequence[tuple[float, float]]) -> list[int]:
    """A place of its own for each system: those that tie stand in the order of the other side."""
    order = sorted(range(len(ranks)), key=lambda index: (*ranks[index], index))
    return [order.index(index) for index in range(len(ranks))]


def _kind(one: Slope) -> str:
    if not one.moved:
        return "same"
    return "worse" if one.measured_rank > one.published_rank else "better"


def _line(base: alt.Chart, kind: str, scale: alt.Scale) -> alt.Chart:
    colour = {"same": "soft", "better": "accent", "worse": "bad"}[kind]
    dashed = {"strokeDash": [6, 3]} if kind == "worse" else {}
    style = altair_style.mark({"color": palette.light(colour), "strokeWidth": 1.25 if kind == "same" else 2.5}, dashed)
    lines = base.transform_filter(f"datum.kind === '{kind}'").mark_rule(**style)
    return cast(alt.Chart, lines.encode(x=alt.value(0), x2=alt.value(WIDTH), y=_y("left", scale), y2="right:Q"))


def _end(base: alt.Chart, side: str, x: float, scale: alt.Scale) -> alt.Chart:
    points = base.mark_circle(color=palette.light("ink"), size=28, opacity=1)
    return cast(alt.Chart, points.encode(x=alt.value(x), y=_y(side, scale)))


def _label(base: alt.Chart, side: str, text: str, x: float, align: str, scale: alt.Scale) -> alt.Chart:
    words = base.mark_text(**altair_style.mark({"align": align, "fontSize": 12, "color": palette.light("ink")}))
    return cast(alt.Chart, words.encode(x=alt.value(x), y=_y(side, scale), text=f"{text}:N"))


def _title(text: str, x: float, align: str) -> alt.Chart:
    style = altair_style.mark({"align": align, "fontSize": 12, "color": palette.light("soft"), "text": text})
    return cast(
        alt.Chart, alt.Chart(pl.DataFrame({"nothing": [0]})).mark_text(**style).encode(x=alt.value(x), y=alt.value(4))
    )


def _y(column: str, scale: alt.Scale) -> alt.Y:
    return alt.Y(f"{column}:Q", scale=scale, axis=None)
