"""The section of a report that sets a run beside the publication that it reproduces."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from tunbench.analysis.study.assessment import Assessment
from tunbench.analysis.study.cell_lookup import NOT_RUN
from tunbench.analysis.study.claims import NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED
from tunbench.analysis.study.rank_correlation import RankCorrelation
from tunbench.analysis.study.table_agreement import ComparedNumber, TableAgreement
from tunbench.report import study_wording, units
from tunbench.report.charts import rank_slopes
from tunbench.report.page import bounds
from tunbench.report.page.figures import DrawnFigure
from tunbench.report.page.filters import SectionFrame
from tunbench.report.page.template import template

TEMPLATE = "study.html.j2"

CLASSES = {REPRODUCED: "ok", NOT_REPRODUCED: "failed", NOT_RUN: "unsupported", NOT_TESTABLE: "unsupported"}
"""The class of each verdict in the page's style; any other has none."""


class Number(NamedTuple):
    """A number as text, and the key that sorts it; None sorts last."""

    text: str
    key: float | None


class PublishedRow(NamedTuple):
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


class StudyTable(NamedTuple):
    """A table of a study: its agreement in words, that of each condition, its figure, rows."""

    number: int
    name: str
    whole: str
    conditions: list[tuple[str, RankCorrelation, str]]
    figures: list[DrawnFigure]
    rows: list[PublishedRow]
    illegible: int


def rendered(assessment: Assessment, frame: SectionFrame, figures: Sequence[DrawnFigure]) -> Markup:
    """The section of an assessment, safe to stand in the page: each figure stands with the table that it is about."""
    context = {
        "frame": frame,
        "marks_of": lambda each: frame.marks(side.cell for side in (each.left, each.right) if side),
        "study": assessment.study,
        "scale": assessment.scale,
        "tables": [_table(one, number, frame, figures) for number, one in enumerate(assessment.tables)],
        "claims": assessment.claims,
        "counts": study_wording.counted(assessment.claims),
        "clusterings": assessment.clusters,
        "wording": study_wording,
        "classes": CLASSES,
        "few": bounds.MAX_UNFOLDED_COMPARISONS,
    }
    return Markup(template(TEMPLATE).render(context))


def _table(table: TableAgreement, number: int, frame: SectionFrame, figures: Sequence[DrawnFigure]) -> StudyTable:
    return StudyTable(
        number,
        table.name,
        study_wording.of_table(table),
        [(name, found, study_wording.agreement(found)) for name, found in table.conditions.items()],
        [one for one in figures if one.figure.id == rank_slopes.figure_id(frame.id, number)],
        [_row(row, frame) for row in table.rows],
        sum(row.published.value is None for row in table.rows),
    )


def _row(row: ComparedNumber, frame: SectionFrame) -> PublishedRow:
    published, measured = row.published, row.measured
    unit = published.unit
    bounds = ""
    if measured and measured.n > 1:
        bounds = units.interval(measured.low, measured.median, measured.high, unit)
    return PublishedRow(
        published.condition,
        published.system,
        row.stack or units.NOTHING,
        Number(units.quantity(published.value, unit), published.value),
        Number(units.quantity(measured.median if measured else None, unit), measured.median if measured else None),
        bounds,
        Number(units.ratio(row.ratio), row.ratio),
        _rank(row.published_rank),
        _rank(row.measured_rank),
        study_wording.remarks_on_number(row),
        published.source,
        frame.marks([row.found.cell if row.found else {}]),
    )


def _rank(value: float | None) -> Number:
    return Number(units.NOTHING if value is None else f"{value:g}", value)
