"""Stacks by questions: the first screen of a report. One number each with its interval, and who is ahead."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from tunbench.analysis.findings.differences import ALIKE
from tunbench.analysis.findings.questions import Asked, asked
from tunbench.analysis.ratios import underlay
from tunbench.analysis.statistics import FEWEST_FOR_INTERVAL, INTERVAL
from tunbench.report import question_words, units
from tunbench.report.tables.heat import MAX_FIELDS
from tunbench.report.tables.table import BEST, FEW, TIED, Column, Field, Table, TableRow
from tunbench.report.view import View

FAILURES = "trials"
"""What the last question is called: how many trials were well."""

Cells = Mapping[tuple[str, str, str, Asked], Mapping[str, Any]]
"""The rows of cells by run, stack, condition and question."""


class Stack(NamedTuple):
    """A stack of a run, and what its row or column is called."""

    run: str
    stack: str
    name: str


class Content(NamedTuple):
    """What the table is made of: `questions` with what each is called, and how many trials most values have."""

    view: View
    stacks: list[Stack]
    questions: Mapping[Asked, str]
    cells: Cells
    usual: int

    @property
    def several_conditions(self) -> bool:
        """Whether there is more than one condition."""
        return len(self.view.conditions) > 1


def table(view: View) -> Table:
    """Stacks by questions; of both, those that are fewer stand across."""
    content = _content(view)
    return _questions_down(content) if len(content.stacks) <= len(content.questions) else _stacks_down(content)


def by_stack(view: View) -> Table:
    """A row a stack and a column a question, so that each column has one unit."""
    return _stacks_down(_content(view))


def _content(view: View) -> Content:
    stacks = [
        Stack(run, stack, f"{stack} · {run}" if view.several else stack)
        for stack in view.stacks
        for run, analysis in zip(view.labels, view.runs, strict=True)
        if stack in analysis.stacks
    ]
    cells = {
        (row["run"], row["stack"], row["condition"], Asked(*(row[name] for name in Asked._fields))): row
        for rows in view.central.values()
        for row in rows
    }
    counted = Counter(row["n"] for row in cells.values())
    usual = counted.most_common(1)[0][0] if counted else 0
    questions = question_words.names(asked(view.cells, view.workloads))
    return Content(view, stacks, questions, cells, usual)


def _questions_down(content: Content) -> Table:
    """A row a condition and question, a column a stack."""
    at = content.view.places
    columns = [Column("", least=16), *_profile(content)]
    columns += [Column(one.name, True, stack=at.stacks[one.stack], run=at.labels[one.run]) for one in content.stacks]
    rows = []
    for condition in content.view.conditions:
        for question, name in content.questions.items():
            fields = [_field(content, one, condition, question) for one in content.stacks]
            if any(field.text != units.NOTHING for field in fields):
                first = Field(name, kind="question")
                rows.append(_row(content, (first, *_condition(content, condition)), fields, condition, question))
        verdicts = [_verdict(content, one, condition) for one in content.stacks]
        rows.append(_row(content, (Field(FAILURES), *_condition(content, condition)), verdicts, condition))
    return Table("matrix", _caption(content), tuple(columns), rows, sortable=False)


def _row(
    content: Content, first: Sequence[Field], fields: Sequence[Field], condition: str, question: Asked | None = None
) -> TableRow:
    at = content.view.places
    workload = at.workloads.get(question.workload, -1) if question else -1
    return TableRow((*first, *fields), -1, at.conditions[condition], workload)


def _stacks_down(content: Content) -> Table:
    """A row a condition and stack, a column a question."""
    at = content.view.places
    columns = [Column("stack"), *_profile(content)]
    columns += [
        Column(name, True, one.unit, workload=at.workloads[one.workload]) for one, name in content.questions.items()
    ]
    rows = []
    most = max(1, MAX_FIELDS // (len(columns) + 1))
    for condition, one in islice(_there(content), most):
        fields = [_field(content, one, condition, question) for question in content.questions]
        first = (Field(one.name, kind="stack"), *_condition(content, condition))
        own = (at.stacks[one.stack], at.conditions[condition], -1, at.labels[one.run])
        rows.append(TableRow((*first, *fields, _verdict(content, one, condition)), *own))
    return Table("matrix", _caption(content), (*columns, Column(FAILURES)), rows)


def _there(content: Content) -> Iterator[tuple[str, Stack]]:
    """Each condition and stack that was run, in their order."""
    verdicts = {
        (label, stack, condition)
        for label, run in zip(content.view.labels, content.view.runs, strict=True)
        for stack, condition, workload in run.verdicts
        if workload is None
    }
    of_condition: dict[str, list[Stack]] = {}
    known = {(one.run, one.stack): (place, one) for place, one in enumerate(content.stacks)}
    for run, stack, condition in sorted(verdicts, key=lambda key: known[key[:2]][0]):
        of_condition.setdefault(condition, []).append(known[run, stack][1])
    for condition in content.view.conditions:
        for one in of_condition.get(condition, ()):
            yield condition, one


def _profile(content: Content) -> list[Column]:
    return [Column("profile")] if content.several_conditions else []


def _condition(content: Content, condition: str) -> list[Field]:
    return [Field(condition)] if content.several_conditions else []


def _field(content: Content, one: Stack, condition: str, question: Asked) -> Field:
    row = content.cells.get((one.run, one.stack, condition, question))
    if row is None:
        return Field(units.NOTHING, kind="quiet")
    value = units.quantity(row["median"], row["unit"])
    around = units.interval(row["low"], row["median"], row["high"], row["unit"]).replace(" ", units.NBSP)
    text = f"{value} {around}" if row["n"] > 1 else value
    if row["n"] != content.usual:
        text += f" n={row['n']}"
    return Field(text, row["median"], kind=_kind(content, one, condition, question, row["n"]))


def _kind(content: Content, one: Stack, condition: str, question: Asked, n: int) -> str:
    """Whether a value is the best, not told from it, or from too few trials to be either."""
    if n < FEWEST_FOR_INTERVAL:
        return FEW
    answers = content.view.answers[content.view.labels.index(one.run)]
    ahead = answers.best.get((condition, underlay(one.stack), question), ())
    if one.stack not in ahead:
        return ""
    return BEST if len(ahead) == 1 else TIED


def _verdict(content: Content, one: Stack, condition: str) -> Field:
    verdict = content.view.verdict(one.run, one.stack, condition)
    return Field(verdict, kind="failed" if "failed" in verdict else "ok" if verdict.startswith("ok") else "unsupported")


def _caption(content: Content) -> str:
    around = f"its {INTERVAL}" if content.usual >= FEWEST_FOR_INTERVAL else "its range"
    trials = "trial" if content.usual == 1 else "trials"
    told = (
        f"The median of {content.usual} {trials} with {around}, unless another number stands beside it. "
        f"Best: ahead of every other tunnel by more than {100 * ALIKE:.0f} % beyond doubt; ≈ best: not told from the "
        "best, where others are."
    )
    if any(row["n"] < FEWEST_FOR_INTERVAL for row in content.cells.values()):
        told += f" Hatched, on a terminal dim: fewer than {FEWEST_FOR_INTERVAL} trials, which show no order."
    return told
