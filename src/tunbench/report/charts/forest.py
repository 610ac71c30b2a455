"""The forest plot of a comparison: the shift of each cell with its interval, around no change."""

from collections.abc import Sequence
from functools import partial

from tunbench.analysis.compare.compared_cell import BETTER, DIFFERENT, WORSE, ComparedCell, worst_first
from tunbench.analysis.compare.runs import RunComparison
from tunbench.report import change_wording, units
from tunbench.report.charts import axes, canvas, labels
from tunbench.report.charts.axes import Span
from tunbench.report.charts.canvas import WIDTH, Mark
from tunbench.report.charts.figure import Figure, Panel
from tunbench.report.view import View

MAX_CELLS = 42
"""Cells that are drawn; more would be higher than a screen or two, and the table has them."""

MAX_CELLS_OF_A_PANEL = 14
"""Cells of one chart; those of a longer plot stand beside each other, on the same scale."""

LINE, STRIP, HEAD = 15, 26, 40
"""Units of height: a line of a label, the interval below it, and the axis above all rows."""

EDGE = 8
"""Units left free beside the plot."""

STACK_CHARACTERS, CELL_CHARACTERS = 34, 54
"""Characters of a line of a stack's name, which leave room for its change, and of what else its cell is."""

MARGIN = 1.08
"""How much longer the axis is, so that no mark touches its end."""

READING = (
    "The Hodges-Lehmann shift of each cell as a share of A, with its interval; the dashed line is no change. A "
    "triangle is the worse direction, a circle is not. A filled mark with a word is a difference that is shown after "
    "correction; an open one is not."
)

CIRCLE, TRIANGLE = (Mark("var(--accent)", shape, -1) for shape in (0, 3))


def figures(view: View) -> list[Figure]:
    """The plot of two runs that can be compared, of which some cell has a relative shift."""
    return plots(view.comparison, view.labels) if isinstance(view.comparison, RunComparison) else []


def plots(compared: RunComparison, names: Sequence[str]) -> list[Figure]:
    """The plot of a comparison, the worst cells first, its charts on one scale; `names` are what the runs are called.

    No plot where no cell has a relative shift.
    """
    every = [row for row in worst_first(compared.rows) if row.relative is not None]
    rows = every[:MAX_CELLS]
    if not rows:
        return []
    ends = [MARGIN * 100 * (bound or 0.0) for row in rows for bound in (row.relative_low, row.relative_high)]
    span = axes.around([0.0, *ends])
    starts = range(0, len(rows), MAX_CELLS_OF_A_PANEL)
    panels = [
        Panel(
            f"cells {start + 1} to {start + len(some)}" if len(starts) > 1 else "",
            -1,
            partial(draw, some, span, f"compare-forest-{start}", f"Change from {names[0]} to {names[1]}"),
        )
        for start in starts
        if (some := rows[start : start + MAX_CELLS_OF_A_PANEL])
    ]
    heading = f"change from {' to '.join(names)}"
    note = READING + (f" The {len(rows)} worst are drawn; the table has all." if len(every) > len(rows) else "")
    return [Figure("compare-forest", heading, "", note, -1, panels, unfolded=True)]


def draw(rows: Sequence[ComparedCell], span: Span, name: str, heading: str) -> str:
    """A row a cell: the relative shift as a mark on its interval; a triangle is worse, a circle is not.

    An open mark is a difference that is not shown.
    """
    heights = [LINE * len(_lines(row)) + STRIP for row in rows]
    bottom = HEAD + sum(heights)
    body = [
        canvas.text(0, 11, "change from A to B, %", "t"),
        canvas.x_axis(span, EDGE, WIDTH - EDGE, HEAD - 11, HEAD - 6, bottom),
        canvas.line(_x(span, 0.0), HEAD - 6, _x(span, 0.0), bottom, "none"),
    ]
    top = float(HEAD)
    for row, height in zip(rows, heights, strict=True):
        body.append(_row(row, span, top, height))
        top += height
    return canvas.svg(bottom, "".join(body), heading, name, "forest")


def _row(row: ComparedCell, span: Span, top: float, height: float) -> str:
    value, low, high = (100 * (bound or 0.0) for bound in (row.relative, row.relative_low, row.relative_high))
    shown = row.verdict in (BETTER, WORSE, DIFFERENT)
    y = height - 15.0
    change = f"{'+' if value > 0 else ''}{units.number(value)}{units.NBSP}%"
    parts = [
        f'<rect class="h" width="{WIDTH}" height="{canvas.number(height)}"/>',
        *(canvas.text(0, 11 + LINE * index, words, kind) for index, (words, kind) in enumerate(_lines(row))),
        canvas.text(WIDTH, 11, f"{change} {row.verdict}" if shown else change, "halo", "end"),
        canvas.line(_x(span, low), y, _x(span, high), y, "i"),
        canvas.marker(TRIANGLE if row.direction == WORSE else CIRCLE, _x(span, value), y, 5, "k" if shown else "o"),
    ]
    return canvas.with_words(
        "".join(parts), _words(row), f'style="color:{CIRCLE.colour}" transform="translate(0 {canvas.number(top)})"'
    )


def _lines(row: ComparedCell) -> list[tuple[str, str]]:
    """The label of a row in lines, each with its class: the stack, then what else the cell is."""
    cell = " · ".join((row.condition, row.workload, change_wording.metric_label(row)))
    return [
        *((line, "halo") for line in labels.wrapped(row.stack, STACK_CHARACTERS).split("\n")),
        *((line, "t halo") for line in labels.wrapped(cell, CELL_CHARACTERS).split("\n")),
    ]


def _words(row: ComparedCell) -> str:
    """All that is known of a change."""
    return "\n".join(
        (
            f"{row.stack}, {row.condition}",
            f"{change_wording.metric_label(row)} of {row.workload}: {row.verdict}",
            f"change: {change_wording.change(row)}",
            f"A: {change_wording.median(row, 'a')}, B: {change_wording.median(row, 'b')}",
            f"p: {change_wording.p_value(row)}, effect: {change_wording.effect(row)}",
        )
    )


def _x(span: Span, value: float) -> float:
    return EDGE + (WIDTH - 2 * EDGE) * min(1, max(0, span.share(value)))
