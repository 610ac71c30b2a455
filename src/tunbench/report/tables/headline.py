"""The run at a glance: what is asked first, a row a stack and condition."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from tunbench.analysis.cells import WHOLE
from tunbench.analysis.metrics import spelled
from tunbench.analysis.run_analysis import of_several
from tunbench.report import questions, units
from tunbench.report.tables.heat import dashes, heat, no_ratio
from tunbench.report.tables.table import PLACE_COLUMNS, Column, Field, Table, placed, ratio_field
from tunbench.report.view import View
from tunbench.runner.declare.metrics import Question


class Headline(NamedTuple):
    """A metric of a workload and its statistic, which have a column, and perhaps another for its ratio to `none`."""

    workload: str
    metric: str
    statistic: str
    with_ratio: bool = False

    @property
    def name(self) -> str:
        """The metric with its statistic."""
        return spelled(self.metric, self.statistic)


def table(view: View) -> Table:
    """The run at a glance: a row a stack and condition, with what is asked first; the fuller a cell, the better."""
    shown = _headlines(view)
    columns = [*PLACE_COLUMNS, Column("verdict")]
    unit_of = dict(view.cells.select("metric", "unit").unique().iter_rows())
    for one in shown:
        of_workload = f", {one.workload}" if len([other for other in shown if other.name == one.name]) > 1 else ""
        columns.append(Column(f"{one.name}{of_workload}", True, unit_of[one.metric]))
        columns += [Column(f"÷ none{of_workload}", True)] if one.with_ratio else []
    rows = []
    found = [_best(view, one) for one in shown]
    for condition, stack, run in _there(view):
        fields = [field for one in found for field in _headline(view, one, (condition, run, stack))]
        verdict = view.verdict(run, stack, condition)
        kind = "failed" if "failed" in verdict else "ok" if verdict.startswith("ok") else "unsupported"
        place = {"run": run, "stack": stack, "name": _called(view, stack, run), "condition": condition}
        # Where not all is well, only that is told.
        told_of = verdict.partition(" ok, ")[2] or verdict
        rows.append(placed(view, place, (Field(told_of, kind=kind), *fields)))
    told = "; ".join(dict.fromkeys(f"{one.metric}: {one.workload}" for one in shown))
    caption = f"Medians over all trials; the fuller a cell, the better among its neighbours of one profile. {told}."
    caption += _first_of(of_several(view.cells, [one.metric for one in shown]), shown)
    caption += dashes([(field.why, row.fields[1].text) for row in rows for field in row.fields if field.why])
    return Table("headline", caption, tuple(columns), rows)


def _there(view: View) -> list[tuple[str, str, str]]:
    """Each condition, stack and run that was run, in their order."""
    there = [
        (view.places.conditions[condition], view.places.stacks[stack], number)
        for number, run in enumerate(view.runs)
        for (stack, condition, workload), verdict in run.verdicts.items()
        if workload is None and verdict != "not run"
    ]
    return [(view.conditions[at], view.stacks[stack], view.labels[run]) for at, stack, run in sorted(there)]


def _headlines(view: View) -> list[Headline]:
    """What is asked first: how fast, by two programs; then how late, and how costly the first of these is."""
    rate = questions.rate(view.cells["metric"].unique().to_list())
    fast = _first_of_each_program(view, rate)[:2]
    found = [Headline(workload, rate, _statistics(view, workload, rate)[0], with_ratio=True) for workload in fast]
    for metric in questions.at_a_glance(Question.LATE):
        for workload in view.measuring(metric)[:1]:
            found += [Headline(workload, metric, statistic) for statistic in _statistics(view, workload, metric)]
    for metric in questions.at_a_glance(Question.COSTLY):
        costly = [workload for workload in fast if workload in view.measuring(metric)]
        found += [Headline(workload, metric, WHOLE) for workload in costly[:1]]
    return found


def _statistics(view: View, workload: str, metric: str) -> tuple[str, ...]:
    """A trial's value where it has one; of a series the median and the tail."""
    rows = view.cells.filter((pl.col("workload") == workload) & (pl.col("metric") == metric))
    return (WHOLE,) if WHOLE in rows["statistic"].to_list() else ("median", "p99")


def _first_of_each_program(view: View, metric: str) -> list[str]:
    """The first workload of each program that has one value of a metric a stack, and not one a pair or direction."""
    places = view.cells.filter(pl.col("metric") == metric).group_by("workload")
    alone = set(places.agg(pl.struct("pair", "node").n_unique()).filter(pl.col("pair") == 1)["workload"].to_list())
    measured = view.measuring(metric)
    found: dict[str, str] = {}
    for workload in [one for one in measured if one in alone] or measured:
        found.setdefault(workload.partition(":")[0], workload)
    return list(found.values())


class _Best(NamedTuple):
    """The rows of a headline by condition, run and stack, and the best median of each condition."""

    headline: Headline
    more: bool
    rows: Mapping[tuple[str, str, str], Mapping[str, Any]]
    best: Mapping[str, float]


def _best(view: View, headline: Headline) -> _Best:
    """What is shown of a headline; of several pairs or nodes the first one's."""
    workload, metric, statistic, _ = headline
    more = questions.more_is_better(metric)
    kept = view.cells.filter(
        (pl.col("workload") == workload) & (pl.col("metric") == metric) & (pl.col("statistic") == statistic)
    )
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in kept.iter_rows(named=True):
        found.setdefault((row["condition"], row["run"], row["stack"]), row)
    medians: dict[str, list[float]] = {}
    for (condition, *_), row in found.items():
        medians.setdefault(condition, []).append(abs(row["median"]))
    best = {condition: max(values) if more else min(values) for condition, values in medians.items()}
    return _Best(headline, more, found, best)


def _first_of(several: Sequence[str], shown: Sequence[Headline]) -> str:
    """That a table shows one of several pairs or directions of some workloads, as the end of a caption."""
    concerned = [name for name in dict.fromkeys(workload for workload, *_ in shown) if name in several]
    return f" Of several pairs or directions it is the first one: {', '.join(concerned)}." if concerned else ""


def _headline(view: View, found: _Best, key: tuple[str, str, str]) -> list[Field]:
    condition, run, stack = key
    with_ratio = found.headline.with_ratio
    row = found.rows.get(key)
    if row is None:
        return [Field(units.NOTHING)] * (2 if with_ratio else 1)
    heated = heat(row["median"], found.best[condition], found.more)
    value = Field(units.quantity(row["median"], row["unit"]), row["median"], heated)
    if not with_ratio:
        return [value]
    ratio = row["ratio_median"]
    if ratio is None:
        return [value, no_ratio(view, run, stack, condition, row["workload"], found.headline.metric)]
    return [value, ratio_field(ratio)._replace(heat=min(1, ratio))]


def _called(view: View, stack: str, run: str) -> str:
    return f"{stack} · {run}" if view.several else stack
