"""The section of a report that sets a run beside the publication that it reproduces."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from tunbench.analysis.findings import Findings
from tunbench.analysis.study.agreement import Agreed, Row
from tunbench.analysis.study.assessment import Assessment, assess, is_study
from tunbench.analysis.study.claims import NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED
from tunbench.analysis.study.lookup import NOT_RUN
from tunbench.analysis.study.ranks import Agreement
from tunbench.plan.load import Loaded
from tunbench.report import study_wording, units
from tunbench.report.charts import slope, svg
from tunbench.report.charts.slope import Slope
from tunbench.report.page.filters import Frame
from tunbench.report.page.template import template

TEMPLATE = "study.html.j2"

MOST = 8
"""Conditions of a table that have a chart; of more, those that agree least."""

CHARTS = 24
"""Charts of all tables together, so that a report is written and read in seconds; each table has one at least."""

FEWEST = 2
"""Systems that a chart needs."""

FEW = 3
"""Comparisons of a claim that are shown without being asked for."""

CLASSES = {REPRODUCED: "ok", NOT_REPRODUCED: "failed", NOT_RUN: "unsupported", NOT_TESTABLE: "unsupported"}
"""The class of each verdict in the page's style; any other has none."""


ALONE = Frame("study")
"""A section in a page of one run, without filters."""


class Number(NamedTuple):
    """A number as text, and the key that sorts it; None sorts last."""

    text: str
    key: float | None


class Line(NamedTuple):
    """A published number beside what was measured, as texts."""

    condition: str
    system: str
    stack: str
    published: Number
    measured: Number
    interval: str
    ratio: Number
    published_rank: Number
    measured_rank: Number
    note: str
    source: str
    marks: Markup


class Panel(NamedTuple):
    """The chart of one condition, as SVG that is safe to stand in the page."""

    heading: str
    svg: str
    marks: Markup


class Shown(NamedTuple):
    """A table of a study: its agreement in words, that of each condition, charts, rows."""

    number: int
    name: str
    whole: str
    conditions: list[tuple[str, Agreement, str]]
    panels: list[Panel]
    left_out: int
    lines: list[Line]
    illegible: int


def section(findings: Findings, loaded: Loaded) -> Markup:
    """The section, safe to stand in the page; empty where the run is of no study and has no claims.

    Raises PlanError where the published numbers cannot be read.
    """
    return rendered(assess(findings, loaded)) if is_study(loaded) else Markup("")


def rendered(assessment: Assessment, frame: Frame = ALONE) -> Markup:
    """The section of an assessment."""
    context = {
        "frame": frame,
        "marks_of": lambda each: frame.marks(side.cell for side in (each.left, each.right) if side),
        "study": assessment.study,
        "scale": assessment.scale,
        "tables": _tables(assessment.tables, frame),
        "claims": assessment.claims,
        "counts": study_wording.counted(assessment.claims),
        "clusterings": assessment.clusters,
        "assessed": study_wording,
        "classes": CLASSES,
        "few": FEW,
    }
    return Markup(template(TEMPLATE).render(context))


def slopes(rows: Sequence[Row]) -> list[Slope]:
    """The systems of one condition that have both numbers, in the order of their published ranks."""
    found = [
        Slope(
            row.published.system,
            row.published_rank,
            row.measured_rank,
            units.quantity(row.published.value, row.published.unit),
            units.quantity(row.measured.median, row.published.unit),
        )
        for row in rows
        if row.published_rank is not None and row.measured_rank is not None and row.measured
    ]
    return sorted(found, key=lambda one: one.published_rank)


def _tables(tables: Sequence[Agreed], frame: Frame) -> list[Shown]:
    most = max(1, min(MOST, CHARTS // max(1, len(tables))))
    return [_shown(one, number, most, frame) for number, one in enumerate(tables)]


def _shown(table: Agreed, number: int, most: int, frame: Frame) -> Shown:
    rows = {name: [row for row in table.rows if row.published.condition == name] for name in table.conditions}
    of_condition = {name: slopes(some) for name, some in rows.items()}
    drawn = _least([name for name, some in of_condition.items() if len(some) >= FEWEST], table, most)
    panels = [
        Panel(
            name,
            _chart(of_condition[name], f"{frame.id}-chart-{number}-{index}", f"{table.name}, {name}"),
            frame.marks(row.found.cell for row in rows[name] if row.found and row.measured),
        )
        for index, name in enumerate(of_condition)
        if name in drawn
    ]
    return Shown(
        number,
        table.name,
        study_wording.of_table(table),
        [(name, found, study_wording.agreement(found)) for name, found in table.conditions.items()],
        panels,
        sum(len(some) >= FEWEST for some in of_condition.values()) - len(panels),
        [_line(row, frame) for row in table.rows],
        sum(row.published.value is None for row in table.rows),
    )


def _least(names: Sequence[str], table: Agreed, most: int) -> set[str]:
    """The conditions that agree least."""

    def tau(name: str) -> float:
        found = table.conditions[name].tau
        return 1.0 if found is None else found

    return set(sorted(names, key=tau)[:most])


def _chart(some: Sequence[Slope], name: str, heading: str) -> str:
    return svg.render(slope.draw(some), name, f"Published and measured ranks, {heading}", slope.told(some))


def _line(row: Row, frame: Frame) -> Line:
    published, measured = row.published, row.measured
    unit = published.unit
    bounds = ""
    if measured and measured.n > 1:
        bounds = units.interval(measured.low, measured.median, measured.high, unit)
    return Line(
        published.condition,
        published.system,
        row.stack or units.NOTHING,
        Number(units.quantity(published.value, unit), published.value),
        Number(units.quantity(measured.median if measured else None, unit), measured.median if measured else None),
        bounds,
        Number(units.ratio(row.ratio), row.ratio),
        _rank(row.published_rank),
        _rank(row.measured_rank),
        study_wording.noted(row),
        published.source,
        frame.marks([row.found.cell if row.found else {}]),
    )


def _rank(value: float | None) -> Number:
    return Number(units.NOTHING if value is None else f"{value:g}", value)
