"""The parts that charts are drawn from, as SVG: texts are escaped, and colours are variables of the page."""

import re
from collections.abc import Sequence
from importlib.resources import files
from typing import NamedTuple

from markupsafe import escape

from tunbench.report import palette
from tunbench.report.charts import axes

WIDTH = 360
"""Units of a chart's width: pixels on a screen, as wide as a telephone held upright can show."""

SHAPES = (
    "M{l} {y}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0Z",
    "M{l} {t}h{d}v{d}h-{d}Z",
    "M{x} {t}L{R} {y}L{x} {b}L{l} {y}Z",
    "M{x} {t}L{R} {b}L{l} {b}Z",
    "M{x} {b}L{R} {t}L{l} {t}Z",
)
"""Circle, square, diamond, and triangles up and down, for a middle x, y and a half width r."""


class Mark(NamedTuple):
    """How a stack is drawn in every chart of a page: its colour, its shape, and its number in the filters."""

    colour: str
    shape: int
    stack: int
    run: int = 0


def svg(height: float, body: str, title: str, name: str, kind: str = "") -> str:
    """The chart as an `<svg>` element, with its name for those who cannot see it."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart drawn {kind}" role="group" aria-labelledby="{name}" '
        f'tabindex="0" viewBox="0 0 {WIDTH} {number(height)}" data-height="{number(height)}">'
        f'<title id="{name}">{escape(title)}</title>{body}</svg>'
    )


def number(value: float) -> str:
    """A coordinate with one decimal at most."""
    return f"{value:.1f}".rstrip("0").rstrip(".")


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "") -> str:
    """A text that begins at a place, or with `anchor` "end" or "middle" ends or is centred there."""
    end = f' text-anchor="{anchor}"' if anchor else ""
    name = f' class="{kind}"' if kind else ""
    return f'<text x="{number(x)}" y="{number(y)}"{name}{end}>{escape(words)}</text>'


def line(x: float, y: float, to_x: float, to_y: float, kind: str) -> str:
    """A straight line of a class of the style sheet."""
    return f'<path class="{kind}" d="M{number(x)} {number(y)}L{number(to_x)} {number(to_y)}"/>'


def polyline(points: Sequence[tuple[float, float]], closed: bool = False) -> str:
    """The way of a path through points."""
    way = "L".join(f"{number(x)} {number(y)}" for x, y in points)
    return f"M{way}{'Z' if closed else ''}"


def dots(xs: Sequence[float], y: float) -> str:
    """Lines of no length on one height, which their round ends make dots; equal ones are drawn once."""
    return "".join(f"M{x} {number(y)}h0" for x in dict.fromkeys(number(x) for x in xs))


def marker(mark: Mark, x: float, y: float, r: float = 4.5, kind: str = "k") -> str:
    """The shape of a stack, of a class of the style sheet."""
    places = {"x": x, "y": y, "l": x - r, "R": x + r, "t": y - r, "b": y + r, "d": 2 * r, "r": r}
    way = SHAPES[mark.shape].format(**{name: number(value) for name, value in places.items()})
    return f'<path class="{kind}" d="{way}"/>'


def with_words(body: str, words: str, more: str = "") -> str:
    """What belongs to one value of no single stack: it tells of itself."""
    return f'<g class="m" tabindex="-1" {more}><title>{escape(words)}</title>{body}</g>'


def group(mark: Mark, body: str, words: str, href: str = "", more: str = "") -> str:
    """What belongs to one value of a stack: it can be filtered, tells of itself, and leads to its trial's commands."""
    tag = f'a href="{escape(href)}"' if href else "g"
    run = f' data-r="{mark.run}"' if mark.run else ""
    return (
        f'<{tag} class="m" style="color:{mark.colour}" tabindex="-1" data-s="{mark.stack}"{run}{more}>'
        f"<title>{escape(words)}</title>{body}</{tag[0]}>"
    )


def x_axis(span: axes.Span, left: float, right: float, words: float, top: float, bottom: float) -> str:
    """Numbers on the height `words` as far as none touches another, and lines through the plot."""
    found, ends = [], -99.0
    for tick in axes.marks(span):
        x, label = left + (right - left) * span.share(tick), axes.label(tick)
        half = 3.5 * len(label)
        if x - half > ends + 4:
            found.append(text(min(max(x, half), WIDTH - half), words, label, "t", "middle"))
            ends = x + half
        found.append(line(x, top, x, bottom, "g"))
    return f'<g aria-hidden="true">{"".join(found)}</g>'


def y_axis(span: axes.Span, left: float, right: float, top: float, bottom: float) -> str:
    """Numbers left of a plot and lines through it."""
    found = []
    ends = bottom + 99
    for tick in axes.marks(span):
        y = bottom - (bottom - top) * span.share(tick)
        if y < ends - 12:
            found.append(text(left - 6, y + 4, axes.label(tick), "t", "end"))
            ends = y
        found.append(line(left, y, right, y, "g"))
    return f'<g aria-hidden="true">{"".join(found)}</g>'


def chart_css() -> str:
    """The style of charts, which pages and exported charts share."""
    return files("tunbench.report.charts").joinpath("chart.css").read_text(encoding="utf-8")


def standalone(drawn: str) -> str:
    """A chart of a page as a file of its own: light, with its style inside, and without links."""
    plain = re.sub(r"<a href=\"[^\"]*\"", "<g", drawn).replace("</a>", "</g>")
    plain = re.sub(r' (?:tabindex|data-[a-z]+|role)="[^"]*"', "", plain)
    height = float(re.search(r'viewBox="0 0 \d+ ([\d.]+)"', plain)[1])  # type: ignore[index]
    size = f'width="{WIDTH + 16}" height="{number(height + 16)}" viewBox="-8 -8 {WIDTH + 16} {number(height + 16)}"'
    plain = re.sub(r'viewBox="[^"]*"', size, plain, count=1)
    style = "text{font-family:Helvetica,Arial,sans-serif}" + chart_css()
    ground = '<rect x="-8" y="-8" width="100%" height="100%" fill="var(--paper)"/>'
    head, title, rest = plain.partition("</title>")
    return palette.in_light(f"{head}{title}<style>{style}</style>{ground}{rest}") + "\n"
