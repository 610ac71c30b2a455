"""What of an event's time passes without answers: the share of events behind which probes are answered again."""

from collections.abc import Iterator, Sequence
from functools import partial

import polars as pl

from tunbench.analysis.findings.questions import Asked
from tunbench.report import question_words
from tunbench.report.charts.canvas import Mark
from tunbench.report.charts.figure import Figure, Panel, marks
from tunbench.report.charts.time import storeys
from tunbench.report.charts.time.storeys import Rule, Storey, TimeAxis, TimeLine
from tunbench.report.view import View

BLOCKED, OUTAGE = "blocked", "outage"
"""How long nobody was answered around an event, and how long the link was down, both from its beginning."""

BACK = "the link is back"

STEPS = 120
"""Steps of a line at most: of more events, some stand for all."""

LEAD = 0.08
"""What is shown of the time before the event, as a share of the longest time without answers."""

HEADING = "answers around an event"

NOTE = (
    "A line falls when the event happens, and rises by one event of one trial with each that is answered again: at "
    "half of its height is the median. It is drawn from the longest time without answers of each event."
)


def figures(view: View) -> list[Figure]:
    """For each workload with events: a panel a condition, and in it a line a stack."""
    raw = view.samples.filter(pl.col("at").is_not_null() & pl.col("metric").is_in([BLOCKED, OUTAGE]))
    made: list[Figure] = []
    for number, workload in enumerate(view.workloads):
        own = raw.filter(pl.col("workload") == workload)
        happened = question_words.event(Asked(workload, BLOCKED, "s", "", ""))
        if not happened or own.is_empty():
            continue
        panels = [
            Panel(condition, index, partial(_drawn, view, some, happened.removeprefix("after "), f"{number}-{index}"))
            for index, condition in enumerate(view.conditions)
            if not (some := own.filter(pl.col("condition") == condition)).is_empty()
        ]
        made.append(Figure(f"recoveries-{number}", HEADING, workload, NOTE, number, panels, unfolded=not made))
    return made


def _drawn(view: View, samples: pl.DataFrame, happened: str, name: str) -> str:
    drawn, lines, named = marks(view), [], []
    for run, stack, mark, blocked in _blocked(samples, drawn):
        lines.append(TimeLine(mark, answered(blocked)))
        named.append((f"{stack} · {run}" if view.several else stack, mark))
    longest = max(at for line in lines for at, _ in line.points) or 1.0
    before = -LEAD * longest
    lines = [line._replace(points=[(before, 1.0), *line.points, (longest, 1.0)]) for line in lines]
    rules = [Rule(0.0, happened)]
    outages = samples.filter(pl.col("metric") == OUTAGE)["value"]
    if not outages.is_empty():
        rules.append(Rule(float(outages.median()), BACK))  # type: ignore[arg-type]
    plot = Storey("events that are answered", "ratio", lines)
    shown = dict.fromkeys(named)
    heading = f"{HEADING}: {happened}, {samples['condition'][0]}"
    return storeys.draw(
        [plot], list(shown), f"recoveries-{name}", heading, rules, TimeAxis("seconds after the event", before)
    )


def _blocked(
    samples: pl.DataFrame, drawn: dict[tuple[str, str], Mark]
) -> Iterator[tuple[str, str, Mark, Sequence[float]]]:
    """The run and stack of each line, how it is drawn, and how long each of its events was without answers."""
    of_lines = samples.filter(pl.col("metric") == BLOCKED).group_by("run", "stack", "pair", maintain_order=True)
    for run, stack, _, values in of_lines.agg("value").iter_rows():
        yield run, stack, drawn[run, stack], values


def answered(blocked: Sequence[float]) -> list[tuple[float, float]]:
    """The share of events that are answered, as steps from the moment of the event on, by their times without answers.

    What was never without an answer does not fall.
    """
    rising = sorted(blocked)
    number = len(rising)
    share = sum(value <= 0 for value in rising) / number
    points = [(0.0, 1.0), (0.0, share)]
    for rank in sorted({-(-number * step // STEPS) for step in range(1, STEPS + 1)}):
        at = max(0.0, rising[rank - 1])
        if at > 0:
            points += [(at, share), (at, share := rank / number)]
    return points
