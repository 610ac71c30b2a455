"""The figures of a page, drawn as far as it can bear them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tunbench.report.charts.figure import Figure
from tunbench.report.page import bounds


class DrawnPanel(NamedTuple):
    """One chart: its heading, its condition's number in the filters (−1: none), and the chart as SVG.

    `cells` are those that it is about, where its condition alone does not tell.
    """

    heading: str
    condition: int
    svg: str
    cells: Sequence[Mapping[str, Any]] = ()


class DrawnFigure(NamedTuple):
    """A figure with its charts, as SVG that is safe to stand in the page."""

    figure: Figure
    panels: list[DrawnPanel]


def drawn(figure: Figure) -> DrawnFigure:
    """The figure with all of its charts."""
    return DrawnFigure(figure, [DrawnPanel(one.heading, one.condition, one.draw(), one.cells) for one in figure.panels])


def drawn_within_bounds(of_sections: Mapping[str, Sequence[Figure]]) -> tuple[dict[str, list[DrawnFigure]], int]:
    """The figures of each section that a page bears, and how many it does not: unfolded ones stay before all others."""
    every = [figure for figures in of_sections.values() for figure in figures]
    listed = _within_rows(every)
    made: dict[str, DrawnFigure] = {}
    count = 0
    for figure in sorted(listed, key=lambda one: (not one.unfolded, not one.main)):
        if count > bounds.MAX_CHARACTERS_OF_CHARTS:
            break
        one = drawn(figure)
        count += sum(len(panel.svg) for panel in one.panels)
        if count <= bounds.MAX_CHARACTERS_OF_CHARTS or not made:
            made[figure.id] = one
    kept = {key: [made[one.id] for one in figures if one.id in made] for key, figures in of_sections.items()}
    return kept, len(every) - len(made)


def _within_rows(figures: Sequence[Figure]) -> list[Figure]:
    """The figures without those that answer no question at first hand, from where the charts have too many rows."""
    kept, rows = [], 0
    for figure in sorted(figures, key=lambda one: not one.main):
        rows += figure.rows
        if figure.main or rows <= bounds.MAX_ROWS_OF_CHARTS:
            kept.append(figure)
    return kept
