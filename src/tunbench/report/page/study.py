"""The section of a report that sets a run beside the publication that it reproduces."""

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from tunbench.analysis.study.assessment import Assessment
from tunbench.analysis.study.cell_lookup import NOT_RUN
from tunbench.analysis.study.claims import NOT_REPRODUCED, NOT_TESTABLE, REPRODUCED
from tunbench.analysis.study.prediction import TablePrediction
from tunbench.analysis.study.table_agreement import ComparedNumber, TableAgreement
from tunbench.report import prediction_wording, study_wording, units
from tunbench.report.charts.study import predictions, rank_slopes
from tunbench.report.page import bounds
from tunbench.report.page.figures import DrawnFigure
from tunbench.report.page.filters import SectionFrame
from tunbench.report.page.template import template

TEMPLATE = "study.html.j2"

CLASSES = {REPRODUCED: "ok", NOT_REPRODUCED: "failed", NOT_RUN: "unsupported", NOT_TESTABLE: "unsupported"}
"""The class of each verdict in the page's style; any other has none."""

UNTESTED = (NOT_RUN, NOT_TESTABLE)
"""The verdicts of claims of which the run says nothing."""


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
    """A table of a study: its agreement and prediction in words, also of each condition, its figures, rows."""

    number: int
    name: str
    whole: str
    prediction: str
    conditions: list[tuple[str, str]]
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
        "tables": [
            _table(one, predicted, number, frame, figures)
            for number, (one, predicted) in enumerate(study_wording.with_predictions(assessment))
        ],
        "prediction": assessment.prediction,
        "prediction_wording": prediction_wording,
        "claims": assessment.claims,
        "counts": study_wording.counted(assessment.claims),
        "tested": [one for one in assessment.claims if one.verdict not in UNTESTED],
        "untested": [one for one in assessment.claims if one.verdict in UNTESTED],
        "clusterings": assessment.clusters,
        "wording": study_wording,
        "classes": CLASSES,
        "few": bounds.MAX_UNFOLDED_COMPARISONS,
    }
    return Markup(template(TEMPLATE).render(context))


def placed(assessment: Assessment, frame: SectionFrame) -> set[str]:
    """The names of the figures that stand with the tables of an assessment."""
    return {name for number in range(len(assessment.tables)) for name in _figures_of(number, frame)}


def _figures_of(number: int, frame: SectionFrame) -> tuple[str, str]:
    return rank_slopes.figure_id(frame.id, number), predictions.figure_id(frame.id, number)


def _table(
    table: TableAgreement,
    predicted: TablePrediction | None,
    number: int,
    frame: SectionFrame,
    figures: Sequence[DrawnFigure],
) -> StudyTable:
    return StudyTable(
        number,
        table.name,
        study_wording.of_table(table),
        prediction_wording.of_table(predicted) if predicted else "",
        [(name, _condition(name, table, predicted)) for name in table.conditions],
        [one for one in figures if one.figure.id in _figures_of(number, frame)],
        [_row(row, study_wording.remarks_on_number(row, table, predicted), frame) for row in table.rows],
        sum(row.published.value is None for row in table.rows),
    )


def _condition(name: str, table: TableAgreement, predicted: TablePrediction | None) -> str:
    """The agreement of a condition, and how well it is predicted."""
    agreed = study_wording.agreement(table.conditions[name])
    if not predicted or predicted.why:
        return agreed
    return f"{agreed}; {prediction_wording.errors(predicted.conditions[name])}"


def _row(row: ComparedNumber, note: str, frame: SectionFrame) -> PublishedRow:
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
        note,
        published.source,
        frame.marks([row.found.cell if row.found else {}]),
    )


def _rank(value: float | None) -> Number:
    return Number(units.NOTHING if value is None else f"{value:g}", value)
