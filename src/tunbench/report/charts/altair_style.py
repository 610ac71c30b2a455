"""What charts that Altair draws have in common."""

from typing import Any

import altair as alt

WIDTH = 280
"""Pixels of a panel's plot; with its labels it is as wide as a telephone held upright can show."""

LINE = 15
"""Pixels of a line of a row's label."""

LINES = "split(datum.label, '\\n')"

Chart = alt.LayerChart


def panel(*layers: alt.Chart, height: float, width: float = WIDTH) -> Chart:
    """The layers, one over the other, in a plot of this size in pixels."""
    return alt.LayerChart(layer=list(layers)).properties(width=width, height=height)


def mark(*options: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Options of a mark, put together."""
    return {name: value for some in (*options, more) for name, value in some.items()}
