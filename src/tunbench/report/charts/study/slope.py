"""A slope chart: published ranks on the left, measured ones on the right, and a line for each system."""

from collections.abc import Sequence
from typing import NamedTuple

from tunbench.report.charts import canvas, labels
from tunbench.report.charts.canvas import WIDTH

ROW, HEAD = 22, 26
"""Units from one rank to the next, and above the first one."""

LEFT, RIGHT = 240, 78
"""Units that the labels on the left have at most, and those on the right."""

GAP = 9
"""Units from a label to the end of its line."""


class Slope(NamedTuple):
    """One system: its rank, the best 1, and its value in words on both sides; it ties with `ties` published ones."""

    system: str
    published_rank: float
    measured_rank: float
    published: str
    measured: str
    ties: int = 0


def draw(slopes: Sequence[Slope], name: str, heading: str) -> str:
    """A line for each system; one whose rank differs is thick, and dashed where it was measured to be worse."""
    published = _places([(one.published_rank, one.measured_rank) for one in slopes])
    measured = _places([(one.measured_rank, one.published_rank) for one in slopes])
    texts = [_label(one) for one in slopes]
    left = min(LEFT, max(len(text) for text in texts) * labels.CHARACTER) + GAP
    right = WIDTH - RIGHT
    body = [
        canvas.text(left - GAP, 11, "published", "t", "end"),
        canvas.text(right + GAP, 11, "measured", "t"),
    ]
    for one, words, at, to in zip(slopes, texts, published, measured, strict=True):
        y, to_y = HEAD + ROW * at, HEAD + ROW * to
        ends = ((left, y), (right, to_y))
        parts = [
            canvas.line(left, y, right, to_y, _kind(one)),
            canvas.text(left - GAP, y + 4, words, "halo", "end"),
            canvas.text(right + GAP, to_y + 4, one.measured, "halo"),
            *(f'<circle class="end" cx="{canvas.number(x)}" cy="{end}" r="3"/>' for x, end in ends),
        ]
        body.append(canvas.with_words("".join(parts), _words(one)))
    return canvas.svg(HEAD + ROW * len(slopes), "".join(body), heading, name, "slope")


def _label(one: Slope) -> str:
    """The system as far as there is room for it beside its published value."""
    room = int(LEFT / labels.CHARACTER) - len(one.published) - 2
    return f"{labels.shortened(one.system, room)}  {one.published}"


def _places(ranks: Sequence[tuple[float, float]]) -> list[int]:
    """A place of its own for each system: those that tie stand in the order of the other side."""
    order = sorted(range(len(ranks)), key=lambda index: (*ranks[index], index))
    return [order.index(index) for index in range(len(ranks))]


def _kind(one: Slope) -> str:
    # Those that tie have their mean rank: any of the ranks that they share agrees with it.
    if abs(one.measured_rank - one.published_rank) <= one.ties / 2:
        return "level"
    return "fall" if one.measured_rank > one.published_rank else "rise"


def _words(one: Slope) -> str:
    return (
        f"{one.system}\npublished {one.published}, rank {one.published_rank:g}\n"
        f"measured {one.measured}, rank {one.measured_rank:g}"
    )
