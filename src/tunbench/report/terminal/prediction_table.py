"""What a calibrated machine predicts of a study, for the terminal."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from tunbench.analysis.study.prediction import Errors, Prediction, TablePrediction
from tunbench.analysis.study.table_agreement import TableAgreement
from tunbench.report import prediction_wording, units
from tunbench.report.terminal.grid import Grid, GridColumn, rows_of

MODELS = (
    "errors, their median and the worst; link and number: the medians of two models that know no system, all at the "
    "link’s rate and all at the calibrating number"
)
"""What the columns are."""

LARGEST = 9.995
"""From here on it is of no use to tell how far off a model is."""


def rendered(found: Prediction, tables: Sequence[TableAgreement], long: bool) -> list[RenderableType]:
    """What calibrates the machine, and the errors of each table; `long` has those of each condition."""
    predicted = [(table.name, one) for table, one in zip(tables, found.tables, strict=True)]
    parts: list[RenderableType] = [
        Text(f"calibrated by {prediction_wording.calibration(found)}".replace(units.NBSP, " ")),
        Text(f"{prediction_wording.machine(found)}".replace(units.NBSP, " ")),
        _table([(name, one) for name, one in predicted if not one.why], long),
    ]
    parts += [_remark(f"{name}: {prediction_wording.of_table(one)}") for name, one in predicted if one.why]
    for name, one in predicted:
        if told := prediction_wording.left_out(one.whole):
            parts.append(_remark(f"{name}: {told}"))
    return [*parts, Text()]


def _table(predicted: Sequence[tuple[str, TablePrediction]], long: bool) -> Group:
    rows = []
    for name, one in predicted:
        rows.append(_row(name, one.whole))
        if long and len(one.conditions) > 1:
            rows += [_row(f"  {condition}", found, condition) for condition, found in one.conditions.items() if found.n]
    names = ("n", "median", "worst", "of", "link", "number")
    heads = [GridColumn("prediction", place=True), *(GridColumn(name, number=name != "of") for name in names)]
    return Group(Grid(heads, rows_of(rows)), Text(MODELS, "dim"))


def _row(name: str, found: Errors, condition: str = "") -> list[Text]:
    """The errors of a table, or of a condition, whose worst cell is then told by its system."""
    fields = [name, str(found.n), prediction_wording.percent(found.median), units.NOTHING, ""]
    if worst := found.worst:
        fields[3] = prediction_wording.percent(worst.error, signed=True)
        fields[4] = worst.published.system if condition else prediction_wording.named(worst)
    return [Text(field.replace(units.NBSP, " ")) for field in (*fields, _model(found.at_link), _model(found.at_number))]


def _model(error: float | None) -> str:
    """The error of a model, or that it says nothing at all."""
    return "> 999 %" if error is not None and error >= LARGEST else prediction_wording.percent(error)


def _remark(text: str) -> Padding:
    return Padding(Text(text.replace(units.NBSP, " "), style="dim"), (0, 0, 0, 4), expand=False)
