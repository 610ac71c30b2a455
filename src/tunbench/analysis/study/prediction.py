"""How well a machine that one published number calibrated predicts the others, beside two models that know no system.

The error of a cell is measured ÷ published − 1, also where less is better. That of a table is the median of the sizes
of its cells' errors: half of its cells are predicted better, and the few that are far off do not move it; `worst` tells
of them.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tunbench.analysis.study.table_agreement import ILLEGIBLE, TIED, ComparedNumber, TableAgreement
from tunbench.journal.readers.published import Published, calibrating, of_table
from tunbench.plan.axes.machine import Machine
from tunbench.plan.model import Plan
from tunbench.plan.study.calibration import Calibration, table_of
from tunbench.plan.study.publication import Study
from tunbench.runner.declare import axes

PLACE = (*axes.NAMES, "metric", "node", "pair")
"""What tells one measured cell from another."""

MODEL_CLOCK = "virtual"
"""The clock of a lab that has a model machine."""


class Errors(NamedTuple):
    """The sizes of the errors of n cells: their median, and the cell that is worst.

    `at_link` and `at_number` are the medians over the same cells of two models: every system carries what the link
    does; every system has the number that calibrated. `zeros` and `illegible` count published values without an error:
    0, and those that cannot be read.
    """

    n: int
    median: float | None
    worst: ComparedNumber | None
    at_link: float | None
    at_number: float | None
    zeros: int
    illegible: int


class TablePrediction(NamedTuple):
    """The predicted cells of a table with their errors: those of each condition, and those of all together.

    What the text prints of the `calibrating` cell is not predicted. `number` is what calibrated, as this table counts;
    None where it is of another kind. `why` says why nothing is predicted.
    """

    cells: tuple[ComparedNumber, ...]
    calibrating: tuple[ComparedNumber, ...]
    conditions: Mapping[str, Errors]
    whole: Errors
    number: float | None
    why: str


class Prediction(NamedTuple):
    """What calibrated a study's machine, what this run measured of it, and the prediction of each table.

    `machine` is the one of this run, where it has a model. It is `calibrated` where it has the name of the calibrated
    one and measures its number; None where nothing was measured.
    """

    calibration: Calibration
    cell: ComparedNumber
    machine: Machine | None
    calibrated: bool | None
    tables: Sequence[TablePrediction]


def predict(
    study: Study, tables: Sequence[TableAgreement], published: Sequence[Published], plan: Plan
) -> Prediction | None:
    """What a run says of a study's numbers after one of them calibrated its machine; None where none does."""
    if study.calibration is None:
        return None
    table = tables[table_of(study.calibration, study.table)]
    number = calibrating(study.calibration, of_table(table.table, published))
    cell = next(row for row in table.rows if row.published == number)
    machine = _machine(cell, plan)
    found = [_of_table(one, cell, table) for one in tables]
    return Prediction(study.calibration, cell, machine, _calibrated(study.calibration, cell, machine), found)


def _machine(cell: ComparedNumber, plan: Plan) -> Machine | None:
    """The model machine on which a cell was measured."""
    name = cell.found.cell.get("machine") if cell.found and plan.lab.clock == MODEL_CLOCK else None
    return next((one for one in plan.values["machine"] if isinstance(one, Machine) and one.name == name), None)


def _calibrated(calibration: Calibration, cell: ComparedNumber, machine: Machine | None) -> bool | None:
    if cell.error is None:
        return None
    return machine is not None and machine.name == calibration.machine and abs(cell.error) <= TIED


def _of_table(table: TableAgreement, calibrating: ComparedNumber, of: TableAgreement) -> TablePrediction:
    """The prediction of a table; the number that calibrated is `of` another one, or the same."""
    if table.table.order_only:
        return TablePrediction((), (), {}, _errors((), table, None), None, table.table.order_only)
    number = _in_terms_of(table, calibrating, of)
    measured = [row for row in table.rows if row.measured]
    own = [row for row in measured if _same_cell(row, calibrating)]
    counted = [row for row in measured if row not in own]
    conditions = {
        name: _errors([row for row in counted if row.published.condition == name], table, number)
        for name in table.conditions
    }
    cells = tuple(row for row in counted if row.error is not None)
    return TablePrediction(cells, tuple(own), conditions, _errors(counted, table, number), number, "")


def _same_cell(row: ComparedNumber, other: ComparedNumber) -> bool:
    """Whether two published numbers have one cell here: the text may print a number in several tables."""
    one, two = (each.found.cell if each.found else {} for each in (row, other))
    return all(one.get(key) == two.get(key) for key in PLACE)


def _in_terms_of(table: TableAgreement, calibrating: ComparedNumber, of: TableAgreement) -> float | None:
    """What calibrated as a table counts, such as six streams together; None where it is of something else.

    How many a table adds up is known where something was measured: None where nothing was.
    """
    kinds = {(row.published.metric, row.published.unit) for row in table.rows}
    published = calibrating.published
    if published.value is None or kinds != {(published.metric, published.unit)}:
        return None
    measured = next((row.found for row in table.rows if row.found and row.measured), None)
    if measured is None:
        return None
    return published.value * measured.summed * table.table.scaled_by / of.table.scaled_by


def _errors(rows: Sequence[ComparedNumber], table: TableAgreement, number: float | None) -> Errors:
    """The errors of rows that have a cell here."""
    cells = [(row, abs(row.error)) for row in rows if row.error is not None]
    rates = [table.table.link_rate.get(row.published.condition) for row, _ in cells]
    values = [row.published.value for row, _ in cells]
    return Errors(
        len(cells),
        _median(error for _, error in cells),
        max(cells, key=lambda cell: cell[1])[0] if cells else None,
        _median(_error(rate, value) for rate, value in zip(rates, values, strict=True)),
        _median(_error(number, value) for value in values),
        sum(row.published.value == 0 for row in rows),
        sum(row.why == ILLEGIBLE for row in rows),
    )


def _error(model: float | None, published: float | None) -> float | None:
    """The size of a model's error; None where there is none."""
    return abs(model / published - 1) if model is not None and published else None


def _median(errors: Iterable[float | None]) -> float | None:
    """The median of errors; None where one is missing, for it must be over the same cells as any other."""
    found = list(errors)
    known = [one for one in found if one is not None]
    return statistics.median(known) if known and len(known) == len(found) else None
