"""Points with a number each, where their names would hide one another: the numbers of a crowd stand in a block."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tunbench.report.charts.labels import GAP, HEIGHT, POINT, Box, around, fits, overlap

DIGIT = 7.0
"""Pixels that a digit is wide."""

APART = 6.0
"""Pixels between two numbers of a line."""

COLUMNS = 5
"""Numbers of a line of a block, at most."""

STEP = 4.0
"""Pixels between the places that are tried for a block."""


class NumberBlock(NamedTuple):
    """The numbers of points that touch each other: their indices, what they cover, and where the points are."""

    members: tuple[int, ...]
    box: Box
    points: Box


def place_blocks(
    points: Sequence[tuple[float, float]], width: float, height: float, covered: Sequence[Box]
) -> list[NumberBlock]:
    """A place for the numbers of all points: each block as near to its points as there is room for it.

    What else is `covered` is left free as far as there is room elsewhere. Without any room a crowd has no block.
    """
    marks = [around(x, y) for x, y in points]
    blocks: list[NumberBlock] = []
    hulls = [(crowd, _hull([marks[index] for index in crowd])) for crowd in crowds(marks)]
    # What is in a corner has the fewest places, and so the first choice.
    for crowd, whole in sorted(hulls, key=lambda one: _room(one[1], width, height)):
        size = _size(crowd, len(str(len(points))))
        taken = [*marks, *(one.box for one in blocks)]
        for filled in ([*taken, *covered], taken):
            tried = _candidates(whole, size, width, height)
            if found := next((box for box in tried if fits(box, filled, width, height)), None):
                break
        blocks += [NumberBlock(tuple(crowd), found, whole)] if found else []
    return blocks


def crowds(marks: Sequence[Box]) -> list[list[int]]:
    """The indices of marks that touch each other, directly or by way of others."""
    found: list[list[int]] = []
    for index, mark in enumerate(marks):
        near = [one for one in found if any(overlap(mark, marks[other]) for other in one)]
        found = [one for one in found if one not in near]
        found.append(sorted([index, *(other for one in near for other in one)]))
    return found


def at(block: NumberBlock, index: int, total: int) -> tuple[float, float]:
    """Where the number of a point ends in its block, in pixels: its right edge and the middle of its line."""
    number = block.members.index(index)
    wide = DIGIT * len(str(total)) + APART
    columns = min(COLUMNS, len(block.members))
    x = block.box.left + wide * (number % columns + 1) - APART / 2
    return x, block.box.top + HEIGHT * (number // columns + 0.5)


def lead(block: NumberBlock) -> tuple[float, float, float, float] | None:
    """A line from a block to the middle of its points; None where it is beside them."""
    x, y = _middle(block.points)
    end_x = min(max(x, block.box.left), block.box.right)
    end_y = min(max(y, block.box.top), block.box.bottom)
    far = _gap(block.box, block.points) > GAP
    return (end_x, end_y, x, y) if far else None


def _size(crowd: Sequence[int], digits: int) -> tuple[float, float]:
    columns = min(COLUMNS, len(crowd))
    return columns * (DIGIT * digits + APART), HEIGHT * -(-len(crowd) // columns)


def _candidates(whole: Box, size: tuple[float, float], width: float, height: float) -> Iterator[Box]:
    """Places of a block in the chart, the nearest to its points first; of equal ones the right one."""
    across, down = (int(max(0.0, room - own) // STEP) + 1 for room, own in zip((width, height), size, strict=True))
    # The places beside the points are on no grid.
    beside = [(edge, _middle(whole)[1] - size[1] / 2) for edge in (whole.right + 1, whole.left - 1 - size[0])]
    columns, rows = np.meshgrid(np.arange(across) * STEP, np.arange(down) * STEP)
    lefts, tops = np.concatenate([np.array(beside), np.column_stack([columns.ravel(), rows.ravel()])]).T
    boxes: Any = Box(lefts, tops, lefts + size[0], tops + size[1])
    for index in np.lexsort((-lefts, _distance(boxes, whole), _gap(boxes, whole))):
        yield Box(*(float(edge[index]) for edge in boxes))


def _gap(one: Any, other: Box) -> Any:
    """Pixels between two rectangles, in steps of a mark; `one` may have arrays of edges."""
    across = np.maximum(one.left - other.right, other.left - one.right)
    down = np.maximum(one.top - other.bottom, other.top - one.bottom)
    return np.rint(np.maximum(np.maximum(across, down), 0) / POINT)


def _room(box: Box, width: float, height: float) -> float:
    """Pixels from a rectangle to the nearest corner of the chart."""
    return min(box.left, width - box.right) + min(box.top, height - box.bottom)


def _distance(one: Any, other: Box) -> Any:
    """Pixels between the middles of two rectangles, across and down; `one` may have arrays of edges."""
    (x, y), (to_x, to_y) = _middle(one), _middle(other)
    return abs(x - to_x) + abs(y - to_y)


def _middle(box: Any) -> tuple[Any, Any]:
    return (box.left + box.right) / 2, (box.top + box.bottom) / 2


def _hull(boxes: Sequence[Box]) -> Box:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return Box(min(lefts), min(tops), max(rights), max(bottoms))
