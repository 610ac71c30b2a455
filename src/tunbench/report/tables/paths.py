"""The paths that stacks found, by what stands before their endpoints, beside those that are expected."""

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median

from tunbench.analysis.expected_paths import expected
from tunbench.analysis.order import condition_of
from tunbench.journal.record import TrialResult
from tunbench.report import units
from tunbench.report.tables.table import Column, Field, Table, TableRow
from tunbench.report.view import View
from tunbench.runner.declare.metrics import BRING_UP
from tunbench.runner.declare.verdicts import Verdict

CAPTION = (
    "The path by which packets went when a stack had come up, as was proven, and how long that took, in the median. "
    "What is not as it is expected says so, of each repeat."
)

Trials = Mapping[tuple[str, str], Sequence[TrialResult]]
"""By stack and condition, the trials in which the stack came up or did not, one of each repeat."""


def tables(view: View) -> list[Table]:
    """A table for each run with several accesses in which a tunnel has several paths."""
    found = []
    for number, identifier in enumerate(view.identifiers("paths")):
        trials = _trials(view, number)
        found_any = any(trial.path for repeats in trials.values() for trial in repeats)
        if found_any and len({access for _, access in trials}) > 1:
            found.append(_table(view, number, f"{identifier}-matrix", trials))
    return found


def _trials(view: View, number: int) -> Trials:
    run = view.runs[number]
    found: dict[tuple[str, str], list[TrialResult]] = {}
    for trial in run.record.trials:
        if trial.cell["workload"] == BRING_UP:
            found.setdefault((str(trial.cell["stack"]), run.conditions[condition_of(trial.cell)]), []).append(trial)
    return found


def _table(view: View, number: int, identifier: str, trials: Trials) -> Table:
    stacks = list(dict.fromkeys(stack for stack, _ in trials))
    conditions = list(dict.fromkeys(condition for _, condition in trials))
    rows = [
        TableRow(
            (Field(condition), *(_field(trials.get((stack, condition), [])) for stack in stacks)),
            -1,
            view.places.conditions[condition],
            -1,
            number,
        )
        for condition in conditions
    ]
    return Table(identifier, CAPTION, (Column("profile"), *(Column(stack) for stack in stacks)), rows)


def _field(trials: Sequence[TrialResult]) -> Field:
    """What was found, how often where repeats differ, and what is expected where that is another thing."""
    if not trials:
        return Field("")
    found = Counter(trial.path or trial.verdict for trial in trials)
    took = [value for trial in trials for metric, _, value, *_ in trial.samples if metric == "connect"]
    paths = [path if len(found) == 1 else f"{path} in {often} of {len(trials)}" for path, often in found.items()]
    text = ", ".join([*paths, *([units.seconds(median(took))] if took else [])])
    # A stack that is expected to fail may have failed for another reason.
    why = "; ".join(dict.fromkeys(trial.reason for trial in trials if trial.reason))
    wanted = expected(str(trials[0].cell["stack"]), str(trials[0].cell["access"]))
    if not wanted or list(found) == [wanted.path]:
        failed = [trial.verdict for trial in trials if trial.verdict != Verdict.OK]
        return Field(text, kind=failed[0] if failed else "", why=why)
    return Field(f"{text}; expected {wanted.path} ({wanted.source})", kind=Verdict.FAILED, why=why)
