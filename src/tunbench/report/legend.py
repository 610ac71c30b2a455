"""The names of what a chart shows, below it: in two columns where they are short."""

from collections.abc import Sequence

from tunbench.report import canvas
from tunbench.report.canvas import WIDTH, Mark

ENTRY = 18
"""Units of a line."""

NARROW, WIDE = 24, 45
"""Characters of names that fit beside each other, and of the longest that fits at all."""


def height(names: Sequence[str]) -> float:
    """Units that the legend needs."""
    return ENTRY * -(-len(names) // _columns(names))


def draw(entries: Sequence[tuple[str, Mark]], top: float, lined: bool = False) -> str:
    """The legend from `top` on; each mark is on a line where the chart has `lined` it."""
    columns, found = _columns([name for name, _ in entries]), []
    for index, (name, mark) in enumerate(entries):
        x, y = (index % columns) * WIDTH / columns, top + ENTRY * (index // columns)
        words = name if len(name) <= WIDE else name[: WIDE - 1] + "…"
        line = canvas.line(x, y, x + 18, y, "l") if lined else ""
        run = f' data-r="{mark.run}"' if mark.run else ""
        found.append(
            f'<g style="color:{mark.colour}" data-s="{mark.stack}"{run}>'
            f"{line}{canvas.marker(mark, x + 9, y, 4)}{canvas.text(x + 24, y + 4, words)}</g>"
        )
    return "".join(found)


def _columns(names: Sequence[str]) -> int:
    return 2 if max(map(len, names)) <= NARROW else 1
