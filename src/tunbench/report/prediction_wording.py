"""What a calibrated machine predicts of a study, in words."""

from tunbench.analysis.study.prediction import Errors, Prediction, TablePrediction
from tunbench.analysis.study.table_agreement import ComparedNumber
from tunbench.plan.axes.machine import Machine
from tunbench.report import units

CALIBRATES = "it calibrates the machine"
"""What is said of a number that is not predicted, because the machine's speed was chosen by it."""


def percent(share: float | None, signed: bool = False) -> str:
    """A share in percent, with two significant digits and a sign where it is wanted."""
    if share is None:
        return units.NOTHING
    sign = units.MINUS if share < 0 else "+" if signed and share > 0 else ""
    return f"{sign}{units.number(100 * abs(share), 2)}{units.NBSP}%"


def calibration(found: Prediction) -> str:
    """Which published number calibrates, and what this run has of it."""
    published = found.cell.published
    number = f"{published.system}, {published.condition}: {units.quantity(published.value, published.unit)}"
    if found.cell.measured is None:
        return f"{number} published, and no number here: {found.cell.why}"
    measured = units.quantity(found.cell.measured.median, published.unit)
    return f"{number} published, {measured} here ({percent(found.cell.error, signed=True)})"


def machine(found: Prediction) -> str:
    """Whether the machine of this run is the calibrated one."""
    wanted, here = found.calibration.machine, _named(found.machine)
    if found.calibrated is None:
        return (
            f"the number that calibrates {wanted} was not measured, so that nothing can be said of this run's machine"
        )
    if found.calibrated:
        return f"this run's machine is the calibrated one, {here}"
    if found.machine is None:
        return f"this run had no model machine, and the calibrated one is {wanted}: its errors are those of a real one"
    if found.machine.name != wanted:
        return f"this run's machine is {here}, and not the calibrated one, {wanted}: what it misses is its own"
    off = percent(found.cell.error, signed=True)
    return f"this run's machine, {here}, is {off} off the number that should calibrate it, and all others with it"


def of_table(found: TablePrediction) -> str:
    """The error of a table in words, or why nothing is predicted of it."""
    return f"not predicted: {found.why}" if found.why else errors(found.whole)


def errors(found: Errors) -> str:
    """The median error, the worst one, and what the two models come to that know no system."""
    if found.worst is None:
        return "; ".join(part for part in ("no cell is predicted", left_out(found)) if part)
    models = [
        f"{name} {percent(value)}"
        for name, value in (("at the link's rate", found.at_link), ("at the calibrating number", found.at_number))
        if value is not None
    ]
    beside = f"every system {', '.join(models)}" if models else ""
    worst = f"worst {percent(found.worst.error, signed=True)} ({named(found.worst)})"
    median = f"median error {percent(found.median)}, {worst}, n = {found.n}"
    return "; ".join(part for part in (median, beside, left_out(found)) if part)


def left_out(found: Errors) -> str:
    """How many published values have no error."""
    counts = ((found.zeros, "published as 0"), (found.illegible, "illegible"))
    told = [f"{count} {what}" for count, what in counts if count]
    return f"left out: {', '.join(told)}" if told else ""


def named(row: ComparedNumber) -> str:
    """A published number by its system and its condition."""
    return ", ".join(part for part in (row.published.system, row.published.condition) if part)


def _named(one: Machine | None) -> str:
    return f"{one.name} of {one.speed:,.6g} million instructions a second" if one else units.NOTHING
