"""Charts as SVG that stands inside a page: named for screen readers, in the page's colours and type."""

import re
from typing import Any

import altair as alt
import vl_convert
from markupsafe import escape

from tunbench.report.charts import palette

SIZE = re.compile(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"[^>]*>')

PADDING = {"left": 16, "right": 10, "top": 4, "bottom": 4}
"""Pixels around a chart: room for a page's type that is wider than the one it was drawn with."""


def render(chart: alt.LayerChart, name: str, title: str, description: str) -> str:
    """The chart as an `<svg>` element; `name` makes its ids differ from those of other charts in the page.

    The texts are escaped. Colours are CSS variables (see `palette.themed`), type is inherited from the page.
    """
    drawn = vl_convert.vegalite_to_svg(_configured(chart).to_dict())
    return palette.themed(_own_ids(_named(drawn, name, title, description), name))


def _configured(chart: alt.LayerChart) -> Any:
    ink, soft, line = (palette.light(name) for name in ("ink", "soft", "line"))
    configured = chart.configure(aria=False, background="transparent", padding=PADDING)
    configured = configured.configure_view(stroke=None)
    return configured.configure_axis(
        labelColor=ink,
        titleColor=soft,
        gridColor=line,
        domainColor=line,
        tickColor=line,
        labelFontSize=12,
        titleFontSize=12,
        titleFontWeight="normal",
        titlePadding=8,
        labelLimit=400,
    )


def _named(svg: str, name: str, title: str, description: str) -> str:
    """Names the SVG, and lets it shrink with the page but never grow beyond its own size."""
    found = SIZE.search(svg)
    if not found:
        raise ValueError("the chart has no size")
    width, height = found[1], found[2]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" aria-labelledby="{name}-title {name}-text" '
        f'viewBox="0 0 {width} {height}" style="max-width:{width}px">'
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-text">{escape(description)}</desc>'
    )
    without = re.sub(r' font-family="[^"]*"| pointer-events="none"| opacity="1"', "", svg[found.end() :])
    return head + without


def _own_ids(svg: str, name: str) -> str:
    renamed = re.sub(r'id="(clip\d+|gradient_\d+)"', rf'id="{name}-\1"', svg)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", renamed)
