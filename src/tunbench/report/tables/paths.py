"""The paths that stacks found, by what stands before their endpoints, beside those that are expected."""

from collections.abc import Mapping

from tunbench.analysis.expected_paths import expected
from tunbench.analysis.order import condition_of
from tunbench.journal.record import TrialResult
from tunbench.report import units
from tunbench.report.tables.table import Column, Field, Table, TableRow
from tunbench.report.view import View
from tunbench.runner.declare.metrics import BRING_UP
from tunbench.runner.declare.verdicts import Verdict

CAPTION = (
    "The path by which packets went when a stack had come up, as was proven, and how long that took. What is not as it "
    "is expected says so."
)


def tables(view: View) -> list[Table]:
    """A table for each run with several accesses in which a tunnel has several paths."""
    found = []
    for number, identifier in enumerate(view.identifiers("paths")):
        trials = _first_trials(view, number)
        if any(trial.path for trial in trials.values()) and len({access for _, access in trials}) > 1:
            found.append(_table(view, number, f"{identifier}-matrix", trials))
    return found


def _first_trials(view: View, number: int) -> dict[tuple[str, str], TrialResult]:
    """By stack and condition, the trial of the first repeat in which the stack came up or did not."""
    run = view.runs[number]
    found: dict[tuple[str, str], TrialResult] = {}
    for trial in run.record.trials:
        if trial.cell["workload"] == BRING_UP:
            found.setdefault((str(trial.cell["stack"]), run.conditions[condition_of(trial.cell)]), trial)
    return found


def _table(view: View, number: int, identifier: str, trials: Mapping[tuple[str, str], TrialResult]) -> Table:
    stacks = list(dict.fromkeys(stack for stack, _ in trials))
    conditions = list(dict.fromkeys(condition for _, condition in trials))
    rows = [
        TableRow(
            (Field(condition), *(_field(trials.get((stack, condition))) for stack in stacks)),
            -1,
            view.places.conditions[condition],
            -1,
            number,
        )
        for condition in conditions
    ]
    return Table(identifier, CAPTION, (Column("profile"), *(Column(stack) for stack in stacks)), rows)


def _field(trial: TrialResult | None) -> Field:
    """What was found, and what is expected where that is another thing."""
    if not trial:
        return Field("")
    found = trial.path or trial.verdict
    took = [value for metric, _, value, *_ in trial.samples if metric == "connect"]
    text = ", ".join([found, *(units.seconds(value) for value in took)])
    wanted = expected(str(trial.cell["stack"]), str(trial.cell["access"]))
    if not wanted or wanted.path == found:
        return Field(text, kind=trial.verdict if trial.verdict != Verdict.OK else "")
    return Field(f"{text}; expected {wanted.path} ({wanted.source})", kind=Verdict.FAILED)
