"""The names of what a chart shows, below it: in two columns where they are short."""

from collections.abc import Sequence

from tunbench.report.charts import canvas, labels
from tunbench.report.charts.canvas import WIDTH, Mark

ENTRY = 18
"""Units of a line."""

NARROW, WIDE = 24, 45
"""Characters of names that fit beside each other, and of a line; longer ones are broken into several."""

LINE = 14
"""Units between two lines of a name."""


def height(names: Sequence[str]) -> float:
    """Units that the legend needs."""
    columns = _columns(names)
    return ENTRY * -(-len(names) // columns) + LINE * sum(len(_lines(name)) - 1 for name in names)


def draw(entries: Sequence[tuple[str, Mark]], top: float, lined: bool = False) -> str:
    """The legend from `top` on; each mark is on a line where the chart has `lined` it."""
    columns, found = _columns([name for name, _ in entries]), []
    more = 0
    for index, (name, mark) in enumerate(entries):
        x, y = (index % columns) * WIDTH / columns, top + ENTRY * (index // columns) + LINE * more
        lines = _lines(name)
        # Long names stand in one column, so that what they need is needed by those below them too.
        more += len(lines) - 1
        words = "".join(canvas.text(x + 24, y + 4 + LINE * number, line) for number, line in enumerate(lines))
        drawn = canvas.line(x, y, x + 18, y, "l") if lined else ""
        run = f' data-r="{mark.run}"' if mark.run else ""
        found.append(
            f'<g style="color:{mark.colour}" data-s="{mark.stack}"{run}>'
            f"{drawn}{canvas.marker(mark, x + 9, y, 4)}{words}</g>"
        )
    return "".join(found)


def _lines(name: str) -> list[str]:
    return labels.wrapped(name, WIDE).split("\n")


def _columns(names: Sequence[str]) -> int:
    return 2 if max(map(len, names)) <= NARROW else 1
