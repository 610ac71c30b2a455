"""What a calibrated machine predicts of each published table: measured over published."""

from collections.abc import Mapping, Sequence
from functools import partial

from tunbench.analysis.study.prediction import Prediction, TablePrediction
from tunbench.analysis.study.table_agreement import ComparedNumber, TableAgreement
from tunbench.report import prediction_wording, units
from tunbench.report.charts.canvas import Mark
from tunbench.report.charts.figure import Figure, Panel, marks
from tunbench.report.charts.points import MedianInterval
from tunbench.report.charts.study import predicted_points
from tunbench.report.charts.study.predicted_points import BAND, PredictedPoint
from tunbench.report.view import View

READING = (
    "Measured here over published: on the line through the middle both are equal, in the band they differ by "
    f"{100 * BAND:.0f}\N{NO-BREAK SPACE}% at most. A line through a point is the interval of its median. The hollow "
    "point calibrates the machine. The dashed lines are two models that know no system."
)

AT_LINK, AT_NUMBER = "link’s rate", "calibrating number"
"""What the lines of both models are called."""

MIN_POINTS, MAX_POINTS = 2, 500
"""Predicted numbers that a chart needs, and how many it has room for: those that are predicted worst."""


def figures(view: View) -> list[Figure]:
    """A figure for each published table that is predicted, of every run."""
    drawn = marks(view)
    found = []
    for name, run in zip(view.identifiers("study"), view.reported, strict=True):
        if run.assessment and run.assessment.prediction:
            of_run = {stack: mark for (label, stack), mark in drawn.items() if label == run.label}
            found += of_tables(run.assessment.tables, run.assessment.prediction, of_run, name)
    return found


def of_tables(
    tables: Sequence[TableAgreement], prediction: Prediction, of_stacks: Mapping[str, Mark], identifier: str
) -> list[Figure]:
    """The figures of the tables of a run; `identifier` begins the names of all."""
    found = []
    for number, (table, predicted) in enumerate(zip(tables, prediction.tables, strict=True)):
        cells = _worst([one for one in predicted.cells if _drawable(one)])
        if len(cells) >= MIN_POINTS:
            own = [one for one in predicted.calibrating if _drawable(one)]
            points = [_point(one, of_stacks, one in own) for one in [*own, *cells]]
            name = figure_id(identifier, number)
            heading = f"Measured over published, {table.name}"
            unit = cells[0].published.unit
            draw = partial(predicted_points.draw, points, _models(predicted, table), unit, f"{name}-0", heading)
            about = [one.found.cell for one in [*own, *cells] if one.found]
            note = READING + _left_out(predicted, len(cells))
            panels = [Panel("", -1, draw, about)]
            found.append(Figure(name, "predicted and published", table.name, note, -1, panels, unfolded=True))
    return found


def figure_id(identifier: str, number: int) -> str:
    """What the figure of a study's table is called, by the table's number."""
    return f"{identifier}-prediction-{number}"


def _drawable(row: ComparedNumber) -> bool:
    """Whether logarithmic axes have a place for both numbers."""
    return bool(row.measured and row.measured.median > 0 and (row.published.value or 0) > 0)


def _worst(cells: Sequence[ComparedNumber]) -> list[ComparedNumber]:
    """The cells that are predicted worst, as far as there is room for them, in their order."""
    if len(cells) <= MAX_POINTS:
        return list(cells)
    least = sorted((abs(one.error or 0.0) for one in cells), reverse=True)[MAX_POINTS - 1]
    return [one for one in cells if abs(one.error or 0.0) >= least][:MAX_POINTS]


def _models(predicted: TablePrediction, table: TableAgreement) -> dict[str, float]:
    """The number that each model has for every system, where it is one for all conditions."""
    rates = {table.table.link_rate.get(row.published.condition) for row in predicted.cells}
    rate = rates.pop() if len(rates) == 1 else None
    models = {AT_LINK: rate, AT_NUMBER: predicted.number}
    return {name: value for name, value in models.items() if value is not None}


def _left_out(predicted: TablePrediction, drawn: int) -> str:
    more = len(predicted.cells) - drawn
    return f" {more} more numbers are not drawn: 0, or predicted better." if more else ""


def _point(row: ComparedNumber, of_stacks: Mapping[str, Mark], calibrates: bool) -> PredictedPoint:
    published, found = row.published, row.measured
    assert found and published.value is not None
    stack = row.found.cell.get("stack", "") if row.found else ""
    around = units.interval(found.low, found.median, found.high, published.unit) if found.n > 1 else ""
    words = [
        prediction_wording.named(row),
        f"published {units.quantity(published.value, published.unit)}",
        f"measured {units.quantity(found.median, published.unit)} {around}".strip(),
        prediction_wording.CALIBRATES if calibrates else prediction_wording.percent(row.error, signed=True),
    ]
    mark = of_stacks.get(stack, predicted_points.BARE)
    measured = MedianInterval(found.median, found.low, found.high)
    return PredictedPoint(published.system, mark, published.value, measured, "\n".join(words), calibrates)
