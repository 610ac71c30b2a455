"""What of an event's time passes without answers: the share of trials, failed ones too, that are answered again."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import polars as pl

from tunbench.analysis.cells import CENTRAL
from tunbench.analysis.findings.questions import Asked
from tunbench.report import question_words
from tunbench.report.charts.canvas import Mark
from tunbench.report.charts.figure import Figure, Panel, marks
from tunbench.report.charts.time import storeys
from tunbench.report.charts.time.storeys import Rule, Storey, TimeAxis, TimeLine
from tunbench.report.view import View
from tunbench.runner.declare.verdicts import Verdict

BLOCKED, OUTAGE = "blocked", "outage"
"""How long nobody was answered around an event, and how long the link was down, both from its beginning."""

BACK = "the link is back"

STEPS = 120
"""Steps of a line at most: of more trials, some stand for all."""

LEAD = 0.08
"""What is shown of the time before the event, as a share of the longest time without answers."""

HEADING = "answers around an event"

NOTE = (
    "A line falls when the event happens, and rises by one trial with each that is answered again, at the median over "
    "its events of the longest time without answers: at half of its height is the median over trials."
)

FAILED = "A trial that failed never rises; the medians of the tables are those of the others. Failed: {}."


class Recovery(NamedTuple):
    """A line: its run and stack, what each trial that is ok was without answers, in seconds, and how many failed."""

    run: str
    stack: str
    blocked: Sequence[float]
    failed: int


def figures(view: View) -> list[Figure]:
    """For each workload with events: a panel a condition, and in it a line a stack."""
    values = view.values.filter(pl.col("metric").is_in([BLOCKED, OUTAGE]) & pl.col("statistic").is_in(CENTRAL))
    made: list[Figure] = []
    for number, workload in enumerate(view.workloads):
        own = values.filter(pl.col("workload") == workload)
        happened = question_words.event(Asked(workload, BLOCKED, "s", "", ""))
        if not happened or own.is_empty():
            continue
        panels = [
            Panel(condition, index, partial(_drawn, view, some, happened.removeprefix("after "), f"{number}-{index}"))
            for index, condition in enumerate(view.conditions)
            if not (some := own.filter(pl.col("condition") == condition)).is_empty()
        ]
        note = " ".join([NOTE, *_failures(view, workload)])
        made.append(Figure(f"recoveries-{number}", HEADING, workload, note, number, panels, unfolded=not made))
    return made


def _drawn(view: View, values: pl.DataFrame, happened: str, name: str) -> str:
    drawn, lines, named = marks(view), [], []
    for one in _recoveries(view, values):
        mark: Mark = drawn[one.run, one.stack]
        lines.append(TimeLine(mark, answered(one.blocked, one.failed)))
        named.append((f"{one.stack} · {one.run}" if view.several else one.stack, mark))
    longest = max(at for line in lines for at, _ in line.points) or 1.0
    before = -LEAD * longest
    lines = [line._replace(points=[(before, 1.0), *line.points, (longest, line.points[-1][1])]) for line in lines]
    rules = [Rule(0.0, happened)]
    outages = values.filter(pl.col("metric") == OUTAGE)["value"]
    if not outages.is_empty():
        rules.append(Rule(float(outages.median()), BACK))  # type: ignore[arg-type]
    plot = Storey("trials that are answered", "ratio", lines)
    shown = dict.fromkeys(named)
    heading = f"{HEADING}: {happened}, {values['condition'][0]}"
    return storeys.draw(
        [plot], list(shown), f"recoveries-{name}", heading, rules, TimeAxis("seconds after the event", before)
    )


def _recoveries(view: View, values: pl.DataFrame) -> Iterator[Recovery]:
    """What is drawn of a workload and condition; of a stack whose trials have all failed, that none is answered."""
    workload, condition = values["workload"][0], values["condition"][0]
    of_lines = values.filter(pl.col("metric") == BLOCKED).group_by("run", "stack", "pair", maintain_order=True)
    found: dict[tuple[str, str], list[Sequence[float]]] = {}
    for run, stack, _, blocked in of_lines.agg("value").iter_rows():
        found.setdefault((run, stack), []).append(blocked)
    for stack in view.stacks:
        for run in view.labels:
            failed, _ = _failed(view, run, stack, condition, workload)
            for blocked in found.get((run, stack), [[]] if failed else []):
                yield Recovery(run, stack, blocked, failed)


def _failed(view: View, run: str, stack: str, condition: str, workload: str) -> tuple[int, int]:
    """How many trials of a cell failed, and how many there are that failed or are ok."""
    verdicts = [trial.verdict for trial, _ in view.trials.get((run, stack, condition, workload), [])]
    failed = verdicts.count(Verdict.FAILED)
    return failed, failed + verdicts.count(Verdict.OK)


def _failures(view: View, workload: str) -> Iterator[str]:
    """What is said of trials that failed: how many of each stack, whatever the condition."""
    told = []
    for stack in view.stacks:
        for run in view.labels:
            counted = [_failed(view, run, stack, condition, workload) for condition in view.conditions]
            failed, trials = (sum(numbers) for numbers in zip(*counted, strict=True))
            if failed:
                told.append(f"{stack}{f' · {run}' if view.several else ''} {failed} of {trials}")
    if told:
        yield FAILED.format(", ".join(told))


def answered(blocked: Sequence[float], failed: int = 0) -> list[tuple[float, float]]:
    """The share of trials that are answered, as steps from the moment of the event on, by their times without answers.

    What was never without an answer does not fall; what failed never rises.
    """
    rising = sorted(blocked)
    number = len(rising) + failed
    share = sum(value <= 0 for value in rising) / number
    points = [(0.0, 1.0), (0.0, share)]
    ranks = {-(-len(rising) * step // STEPS) for step in range(1, STEPS + 1)} if rising else set()
    for rank in sorted(ranks):
        at = max(0.0, rising[rank - 1])
        if at > 0:
            points += [(at, share), (at, share := rank / number)]
    return points
