"""A run on one screen: how fast, how costly and how late, a row a stack and condition."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from tunbench.analysis import missing_ratios
from tunbench.analysis.run_analysis import RunAnalysis, of_several, verdict_of, workloads
from tunbench.report import questions, units
from tunbench.report.tables import workload_summaries
from tunbench.report.tables.table import PLACE_COLUMNS, Column, Field, Table, TableRow
from tunbench.report.tables.workload_summaries import MAX_ROWS, RATE
from tunbench.report.view import View
from tunbench.runner.declare.metrics import Question

MAX_WORKLOADS = 2
"""Workloads that stand side by side in one table at most."""

INTERVAL = len("[11.8, 12.1]")
"""Characters of a column that breaks its lines between a median and its interval only."""


class Measured(NamedTuple):
    """What the table shows: the rate with the workloads that measured it, and other metrics with theirs, by name."""

    rate: str
    fast: Sequence[str]
    costly: Mapping[str, Sequence[str]]
    late: Mapping[str, Sequence[str]]


def tables(view: View) -> list[Table]:
    """One table of the first run; where it has more than MAX_WORKLOADS workloads, one for each of them."""
    analysis = view.runs[0]
    names = workload_summaries.names(analysis)
    made = workload_summaries.tables(analysis) if len(names) > MAX_WORKLOADS else [_table(analysis)]
    rows = len(analysis.conditions) * len(analysis.stacks) * (len(names) if len(names) > MAX_WORKLOADS else 1)
    left_out = rows - sum(len(table.rows) for table in made)
    return [*made[:-1], made[-1]._replace(left_out=left_out, notes=_notes(analysis))]


def _measured(analysis: RunAnalysis) -> Measured:
    rate = questions.rate(analysis.cells["metric"].unique().to_list())
    fast = workloads(analysis, rate)
    # What else is measured carries too little for the cost of a byte.
    costly = {
        name: [one for one in fast if one in workloads(analysis, name)]
        for name in questions.at_a_glance(Question.COSTLY)
    }
    late = {name: workloads(analysis, name) for name in questions.at_a_glance(Question.LATE)}
    return Measured(rate, fast, costly, late)


def _notes(analysis: RunAnalysis) -> tuple[str, ...]:
    """Why a ratio is missing, and of which workloads one of several values is shown."""
    measured = _measured(analysis)
    reasons = _without_ratio(analysis, measured.rate)
    notes = [f"– is no ratio: {reason}" for reason in missing_ratios.reasons_with_conditions(reasons)]
    if several := of_several(analysis.cells, (measured.rate, *measured.costly, *measured.late)):
        notes.append(f"of several pairs or directions it is the first one ({', '.join(several)}); the report has all")
    return tuple(notes)


def _without_ratio(analysis: RunAnalysis, rate: str) -> list[tuple[str, str]]:
    """Why rates that were measured have no ratio to `none`, each with its condition."""
    there = analysis.cells.filter((pl.col("metric") == rate) & pl.col("ratio_median").is_null())
    places = there.select("stack", "condition", "workload").unique(maintain_order=True).iter_rows()
    return [
        (missing_ratios.reason(analysis, stack, condition, workload, rate), condition)
        for stack, condition, workload in places
    ]


def _table(analysis: RunAnalysis) -> Table:
    measured = _measured(analysis)
    cells = [(stack, condition) for condition in analysis.conditions.values() for stack in analysis.stacks]
    rows = [_row(analysis, stack, condition, measured) for stack, condition in cells[:MAX_ROWS]]
    return Table("summary", "", _columns(analysis, measured), rows)


def _columns(analysis: RunAnalysis, measured: Measured) -> tuple[Column, ...]:
    columns = list(PLACE_COLUMNS)
    with_intervals = _has_intervals(analysis, measured.rate)
    name, least = (f"{measured.rate} [low, high]", INTERVAL) if with_intervals else (measured.rate, RATE)
    for workload in measured.fast:
        columns.append(Column(_heading(name, workload, measured.fast), True, least=least))
        columns.append(Column("÷ none", True))
        columns += [Column(cost, True, whole=True) for cost, costly in measured.costly.items() if workload in costly]
    for metric, late in measured.late.items():
        columns += [Column(_heading(metric, workload, late), True) for workload in late]
    return (*columns, Column("verdict"))


def _has_intervals(analysis: RunAnalysis, rate: str) -> bool:
    """Whether any rate has an interval."""
    rates = pl.col("metric") == rate
    return not analysis.cells.filter(rates & (pl.col("low") != pl.col("high"))).is_empty()


def _heading(name: str, workload: str, among: Sequence[str]) -> str:
    """The metric, and the workload where several measured it."""
    return name if len(among) == 1 else f"{name}\n{workload}"


def _row(analysis: RunAnalysis, stack: str, condition: str, measured: Measured) -> TableRow:
    def found(workload: str, metric: str) -> dict[str, Any]:
        return analysis.central.get((stack, condition, workload, metric), {})

    texts = [stack, condition]
    for workload in measured.fast:
        row = found(workload, measured.rate)
        texts += [_with_interval(row), units.ratio(row.get("ratio_median"))]
        texts += [_median(found(workload, cost)) for cost, costly in measured.costly.items() if workload in costly]
    for metric, late in measured.late.items():
        texts += [_median(found(workload, metric)) for workload in late]
    fields = (*map(Field, texts), Field(verdict_of(analysis, stack, condition), kind="verdict"))
    return TableRow(fields)


def _with_interval(found: Mapping[str, Any]) -> str:
    if not found:
        return units.NOTHING
    low, median, high = found["low"], found["median"], found["high"]
    value = units.quantity(median, found["unit"])
    # One trial alone has no range.
    return value if low == high else f"{value} {units.interval(low, median, high, found['unit'])}"


def _median(found: Mapping[str, Any]) -> str:
    return units.quantity(found["median"], found["unit"]) if found else units.NOTHING
