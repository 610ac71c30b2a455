"""The sections of a report in their order: what each is made of, and where that is shown.

Whoever adds a table or a chart adds the file that makes it, and an entry here: page, export and terminal follow.
A terminal shows tables alone.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import Flag, auto
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from tunbench.report.charts import (
    degradation,
    distributions,
    forest,
    metric_strips,
    option_sweeps,
    pareto_fronts,
)
from tunbench.report.charts import growth as growth_charts
from tunbench.report.charts.figure import Figure
from tunbench.report.charts.study import predictions, rank_slopes
from tunbench.report.charts.time import over_time, recoveries
from tunbench.report.tables import costs, every_cell, growth, matrix, medians, narrow, paths, ratios, study
from tunbench.report.tables.table import Table
from tunbench.report.view import View
from tunbench.runner.declare.metrics import Question

Made = TypeVar("Made", Table, Figure)


class Medium(Flag):
    """Where a report is shown."""

    PAGE = auto()
    EXPORT = auto()
    TERMINAL = auto()


PAGE_AND_EXPORT = Medium.PAGE | Medium.EXPORT


class Exhibit(NamedTuple, Generic[Made]):
    """What makes tables or figures of runs, and on which media they appear."""

    make: Callable[[View], Sequence[Made]]
    media: Medium = PAGE_AND_EXPORT


class Section(NamedTuple):
    """A section: its tables, below them its charts, and below these the long tables that one looks something up in.

    `reading` says how it is read; on the virtual clock it goes on with `on_virtual_clock`. One without a heading is not
    among the contents of a page. What has neither tables nor charts is text, which the page alone has. No chart is
    for the terminal, which draws none.
    """

    id: str
    heading: str
    tables: tuple[Exhibit[Table], ...] = ()
    charts: tuple[Exhibit[Figure], ...] = ()
    long_tables: tuple[Exhibit[Table], ...] = ()
    reading: str = ""
    on_virtual_clock: str = ""


def _one(make: Callable[..., Table], *more: str) -> Callable[[View], list[Table]]:
    """What makes a list of one table."""
    return lambda view: [make(view, *more)]


def _strips(question: Question) -> Exhibit[Figure]:
    return Exhibit(partial(metric_strips.figures, question=question))


def _ratios(question: Question) -> tuple[Exhibit[Table], ...]:
    """The ratios to `none` of what a question is about; a page of one condition has the same in its overview."""
    several = partial(ratios.of_several_conditions, question=question)
    return Exhibit(_one(ratios.table, question), Medium.EXPORT), Exhibit(several, Medium.PAGE)


SECTIONS = (
    Section(
        "overview",
        "Overview",
        (
            Exhibit(_one(matrix.table), Medium.PAGE | Medium.TERMINAL),
            Exhibit(_one(matrix.by_stack), Medium.EXPORT),
            Exhibit(partial(ratios.of_few_conditions, question=Question.FAST), Medium.TERMINAL),
        ),
    ),
    Section(
        "study",
        "Beside the publication",
        (Exhibit(study.tables, Medium.EXPORT),),
        (
            Exhibit(rank_slopes.figures, Medium.EXPORT),
            Exhibit(rank_slopes.least_agreeing, Medium.PAGE),
            Exhibit(predictions.figures),
        ),
    ),
    Section(
        "narrow",
        "Which cells were narrow enough",
        (Exhibit(narrow.tables, Medium.PAGE), Exhibit(narrow.summary, Medium.TERMINAL)),
    ),
    Section("compare", "Compared", charts=(Exhibit(forest.figures),)),
    Section(
        Question.FAST,
        "How fast",
        charts=(_strips(Question.FAST),),
        long_tables=_ratios(Question.FAST),
        reading=(
            "Each faint dot is one trial. The solid mark is their median; the thick line through it is its "
            "interval by order statistics, or the range where there are fewer than six trials. The dashed line is "
            "none on the same kind of underlay. Each chart has its own scale: from zero, or logarithmic where its "
            "axis says so. A row leads to the commands of its first trial."
        ),
    ),
    Section(
        Question.LATE,
        "How late",
        charts=(
            _strips(Question.LATE),
            Exhibit(partial(pareto_fronts.figures, question=Question.LATE)),
            Exhibit(distributions.figures),
        ),
        long_tables=_ratios(Question.LATE),
        reading=(
            "Of what a workload has as a series, the thin line goes from the 5th to the 95th percentile of all "
            "raw values, the pale box holds their middle half, and the hollow diamond is the 99th percentile. The "
            "solid mark is the median over trials of each trial’s median, with its interval; few values stand as "
            "dots."
        ),
    ),
    Section(
        "time",
        "Over time",
        charts=(Exhibit(over_time.figures), Exhibit(recoveries.figures)),
        reading=(
            "What a load does to those who wait behind it: throughput above, delay below, over the same time. And what "
            "an event does to those who want an answer."
        ),
    ),
    Section(
        Question.COSTLY,
        "How costly",
        charts=(_strips(Question.COSTLY), Exhibit(partial(pareto_fronts.figures, question=Question.COSTLY))),
        long_tables=(Exhibit(_one(costs.table)),),
        reading=(
            "Cost is the time in which the machine was not idle, for each byte that arrived at the overlay’s "
            "interface of either end: what both ends and all that stands between them spend together, programs, "
            "kernel and interrupts. The excess is the cost less that of none with the same seed, profile, "
            "workload and kind of underlay. What the workload’s own programs spend is part of the cost."
        ),
        on_virtual_clock=(
            "On the virtual clock a nanosecond is an instruction (on the full machine): 1\N{NO-BREAK SPACE}ns/B "
            "is one instruction for each byte."
        ),
    ),
    Section(
        "degrades",
        "How it degrades",
        charts=(Exhibit(degradation.figures), Exhibit(option_sweeps.figures)),
        reading=(
            "A curve a stack: medians, with the interval of each as a band. Where profiles or workloads differ in "
            "one number alone, it is what they are drawn over; else they stand in the order of the plan, and the "
            "line between them only leads the eye."
        ),
    ),
    Section(
        "growth",
        "How it grows",
        charts=(Exhibit(growth_charts.figures),),
        long_tables=(Exhibit(growth.tables, Medium.PAGE | Medium.EXPORT | Medium.TERMINAL),),
        reading=(
            "Of meshes of several sizes: medians over the number of nodes. The exponent is the slope of the "
            "logarithms, the median of those of all pairs of trials, with its 95 % interval: 0 is no growth, 1 in "
            "proportion to the nodes, 2 to their pairs."
        ),
    ),
    Section(
        "paths",
        "Which way packets go",
        (Exhibit(paths.tables, Medium.PAGE | Medium.EXPORT | Medium.TERMINAL),),
        reading=(
            "A row is what stands before the endpoints, a column a stack. Without a path the verdict stands there; its "
            "reason is among the failures below."
        ),
    ),
    Section(
        Question.RECOVERS,
        "How it comes up and recovers",
        charts=(_strips(Question.RECOVERS),),
        long_tables=(Exhibit(_one(medians.table, Question.RECOVERS)),),
        reading=(
            "Each dot is one event: a cold start, a restart, a link that was cut, another address or a reboot. "
            "The solid mark is the median over trials."
        ),
    ),
    Section(
        Question.WIRE,
        "What it adds on the wire",
        charts=(_strips(Question.WIRE),),
        long_tables=(Exhibit(_one(medians.table, Question.WIRE)),),
        reading=(
            "The bytes that a packet has more between the nodes than in the overlay, what fits, and what is sent "
            "while nobody asks for anything."
        ),
    ),
    Section(Question.OTHER, "What else was measured", charts=(_strips(Question.OTHER),)),
    Section("everything", "Everything", long_tables=(Exhibit(_one(every_cell.table)),)),
    Section("warnings", "Warnings"),
    Section("failures", "Failed or unsupported"),
    Section("trials", "Trials"),
    Section("method", "Method"),
    Section("impairments", "Impairments"),
    Section("clock", ""),
    Section("manifest", "Manifest"),
)


def on_medium(exhibits: Sequence[Exhibit[Made]], medium: Medium, view: View) -> Iterator[Made]:
    """The tables or figures of a section that appear on a medium."""
    for exhibit in exhibits:
        if medium in exhibit.media:
            yield from exhibit.make(view)


def tables_on(medium: Medium, view: View) -> Iterator[Table]:
    """Every table of a medium, in the order of the sections."""
    for section in SECTIONS:
        yield from on_medium((*section.tables, *section.long_tables), medium, view)
