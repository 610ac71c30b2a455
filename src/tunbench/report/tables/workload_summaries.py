"""Where a run has many workloads: a table for each on one screen, with what it measured."""

from collections.abc import Mapping

import polars as pl

from tunbench.analysis import metrics
from tunbench.analysis.run_analysis import RunAnalysis, verdict_of
from tunbench.analysis.verdicts import executed
from tunbench.report import questions, units
from tunbench.report.tables.table import PLACE_COLUMNS, Column, Field, Table, TableRow
from tunbench.runner.catalogue import metrics_by_name
from tunbench.runner.declare.metrics import Metric, Question

MAX_METRICS = 5
"""Metrics of a workload that are shown: it names the most important ones first."""

MAX_ROWS = 1000
"""Rows of all tables at most."""

RATE = len("1.00 Gbit/s")
"""Characters that a column of what is compared keeps: a narrow terminal breaks others first."""


def names(analysis: RunAnalysis) -> list[str]:
    """The workloads of a run, in their order."""
    return list(dict.fromkeys(trial.cell["workload"] for trial in executed(analysis.record)))


def tables(analysis: RunAnalysis) -> list[Table]:
    """A table for each workload: medians over repeats, the ratio to `none` of what is the better the more, verdicts."""
    found: list[Table] = []
    left = MAX_ROWS
    for workload in names(analysis):
        if left:
            found.append(_table(analysis, workload, left))
            left -= len(found[-1].rows)
    return found


def _table(analysis: RunAnalysis, workload: str, most: int) -> Table:
    shown = _metrics(analysis, workload)
    columns = list(PLACE_COLUMNS)
    for name, metric in shown.items():
        columns.append(Column(name, True, least=RATE if metric.more_is_better else None))
        columns += [Column("÷ none", True)] if metric.more_is_better else []
    cells = [(stack, condition) for condition in analysis.conditions.values() for stack in analysis.stacks]
    rows = [_row(analysis, workload, stack, condition, shown) for stack, condition in cells[:most]]
    return Table("summary", workload, (*columns, Column("verdict")), rows)


def _metrics(analysis: RunAnalysis, workload: str) -> dict[str, Metric]:
    """The metrics that a workload has values of, as it lists them, and costs where it is there to carry bytes."""
    measured = set(analysis.cells.filter(pl.col("workload") == workload)["metric"].to_list())
    shown = [(name, metric) for name, metric in metrics.declared(workload).items() if name in measured]
    carries = questions.first_at_a_glance(Question.FAST) in measured
    costs = [name for name in questions.at_a_glance(Question.COSTLY) if carries and name in measured]
    return dict(shown[:MAX_METRICS]) | {name: metrics_by_name()[name] for name in costs}


def _row(analysis: RunAnalysis, workload: str, stack: str, condition: str, shown: Mapping[str, Metric]) -> TableRow:
    texts = [stack, condition]
    for name, metric in shown.items():
        found = analysis.central.get((stack, condition, workload, name), {})
        texts.append(units.quantity(found["median"], found["unit"]) if found else units.NOTHING)
        texts += [units.ratio(found.get("ratio_median"))] if metric.more_is_better else []
    verdict = verdict_of(analysis, stack, condition, workload)
    return TableRow((*map(Field, texts), Field(verdict, kind="verdict")))
