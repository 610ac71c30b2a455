"""Texts in charts: long names broken into lines, and labels of points placed so that none hides another."""

import re
from collections.abc import Sequence
from typing import NamedTuple

CHARACTER = 7.0
"""Pixels that a character of a label is wide, at most on average."""

HEIGHT = 13.0
"""Pixels that a label is high."""

GAP = 8.0
"""Pixels between a point and its label."""

POINT = 5.0
"""Pixels from a point's middle to its edge."""

STEPS = 2
"""Heights of a label that it may be above or below its point: the next ones would need a line to it."""

MAX_CHARACTERS = 30
"""Characters of a point's label; longer ones are cut."""


class Box(NamedTuple):
    """The edges of a rectangle in pixels, from the chart's top left."""

    left: float
    top: float
    right: float
    bottom: float


def around(x: float, y: float, half: float = POINT) -> Box:
    """What a mark of half a width covers."""
    return Box(x - half, y - half, x + half, y + half)


class Label(NamedTuple):
    """Where a label is, in pixels from the chart's top left; `right` of its anchor or left of it."""

    x: float
    y: float
    right: bool

    def box(self, text: str) -> Box:
        """What its text covers."""
        width = len(text) * CHARACTER
        left = self.x if self.right else self.x - width
        return Box(left, self.y - HEIGHT / 2, left + width, self.y + HEIGHT / 2)


def wrapped(text: str, line: int) -> str:
    """The text broken into lines behind `+`, `:`, `,` and spaces, as long as fit; nothing is left out."""
    lines = [""]
    for piece in re.findall(r"[^+:, ]*[+:, ]|[^+:, ]+", text):
        if lines[-1] and len(lines[-1]) + len(piece) > line:
            lines.append("")
        lines[-1] += piece
    return "\n".join(part for whole in lines for part in _cut(whole, line))


def shortened(text: str, most: int = MAX_CHARACTERS) -> str:
    """The text, with an ellipsis where it is longer than so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def place_labels(
    points: Sequence[tuple[float, float]],
    texts: Sequence[str],
    width: float,
    height: float,
    covered: Sequence[Box] = (),
) -> list[Label | None]:
    """A place for the label of each point, in pixels: beside it where there is room, or None.

    Each label in turn takes the nearest place, right before left, that neither leaves the chart nor covers a point, a
    label that has its place, or what else is `covered`.
    """
    taken = [*covered, *(around(x, y) for x, y in points)]
    placed: dict[int, Label | None] = {}
    for index in sorted(range(len(points)), key=lambda one: points[one][1]):
        candidates = _around(points[index])
        free = (label for label in candidates if fits(label.box(texts[index]), taken, width, height))
        label = next(free, None)
        taken += [label.box(texts[index])] if label else []
        placed[index] = label
    return [placed[index] for index in range(len(points))]


def _around(point: tuple[float, float]) -> list[Label]:
    x, y = point
    steps = sorted((step * HEIGHT * sign for step in range(STEPS) for sign in (1, -1)), key=abs)
    return [Label(x + (GAP if right else -GAP), y + step, right) for step in steps for right in (True, False)]


def fits(box: Box, taken: Sequence[Box], width: float, height: float) -> bool:
    """Whether a rectangle is inside a chart, and touches nothing that is taken."""
    inside = box.left >= 0 and box.right <= width and box.top >= 0 and box.bottom <= height
    return inside and not any(overlap(box, other) for other in taken)


def overlap(one: Box, other: Box) -> bool:
    """Whether two rectangles have more than an edge in common."""
    across = one.left < other.right and other.left < one.right
    return across and one.top < other.bottom and other.top < one.bottom


def _cut(text: str, line: int) -> list[str]:
    return [text[start : start + line] for start in range(0, len(text), line)]
