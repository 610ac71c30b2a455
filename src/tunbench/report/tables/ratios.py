"""The ratios to `none` of a metric, stacks by conditions."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from tunbench.analysis.ratios import is_baseline
from tunbench.analysis.statistics import FEWEST_FOR_INTERVAL
from tunbench.report import questions, units
from tunbench.report.tables.heat import dashes, heat, max_rows, no_ratio, shortened
from tunbench.report.tables.table import FEW, Column, Field, Table, TableRow
from tunbench.report.view import View
from tunbench.runner.declare.metrics import Question

FEW_CONDITIONS = 6
"""Conditions of which a terminal shows the ratios."""


def table(view: View, question: Question) -> Table:
    """For each workload with the metric that stands for a question: its ratio to `none`, stacks by conditions."""
    metric = questions.first_at_a_glance(question)
    most = max_rows(len(view.conditions) + 2)
    every = (row for workload in view.measuring(metric) for row in _relatives(view, workload, metric))
    rows = list(islice(every, most))
    columns = [Column(name, True, "", index) for index, name in enumerate(view.conditions)]
    caption = (
        f"{metric} ÷ that of none under equal conditions: the ratio of medians with its interval, which is the range "
        f"and has no colour below {FEWEST_FOR_INTERVAL} trials. ‖ is paired by seed: the median of ratios within one. "
        "1 is as without a tunnel; the fuller a cell, the better."
    )
    fields = [(field, place) for row in rows for field, place in zip(row.fields[2:], view.conditions, strict=True)]
    caption += dashes([(field.why, place) for field, place in fields if field.why])
    caption += shortened(most) if len(rows) == most else ""
    return Table(f"relative-{metric}", caption, (Column("stack"), Column("workload"), *columns), rows)


def of_several_conditions(view: View, question: Question) -> list[Table]:
    """The table, unless there is one condition alone."""
    return [table(view, question)] if len(view.conditions) > 1 else []


def of_few_conditions(view: View, question: Question) -> list[Table]:
    """The table, unless a screen has no room for its columns."""
    return [table(view, question)] if len(view.conditions) <= FEW_CONDITIONS else []


def _relatives(view: View, workload: str, metric: str) -> Iterator[TableRow]:
    names: dict[tuple[str, str, str], dict[str, Mapping[str, Any]]] = {}
    for row in view.central.get((workload, metric), []):
        if row["ratio_median"] is not None and not is_baseline(row["stack"]):
            names.setdefault((row["run"], row["stack"], row["name"]), {})[row["condition"]] = row
    ordered = sorted(names, key=lambda key: (view.places.stacks[key[1]], view.places.labels[key[0]]))
    for name in ordered:
        yield _relative(view, workload, metric, name, names[name])


def _relative(
    view: View, workload: str, metric: str, key: tuple[str, str, str], rows: Mapping[str, Mapping[str, Any]]
) -> TableRow:
    run, stack, name = key
    fields = [Field(name, kind="stack"), Field(workload, kind="stack workload")]
    for condition in view.conditions:
        row = rows.get(condition)
        if row is None:
            verdict = view.verdict(run, stack, condition, workload)
            measured = "ok" in verdict
            told = no_ratio(view, *key[:2], condition, workload, metric) if measured else Field(verdict, kind="quiet")
            fields.append(told)
        else:
            fields.append(_field(row, questions.more_is_better(metric)))
    at = view.places
    return TableRow(tuple(fields), at.stacks[stack], -1, at.workloads[workload], at.labels[run])


def _field(row: Mapping[str, Any], more: bool) -> Field:
    """A ratio with its interval; of too few trials it has no colour."""
    value, low, high = (row[f"ratio_{name}"] for name in ("median", "low", "high"))
    around = f" [{units.number(low, 2)},{units.NBSP}{units.number(high, 2)}]" if row["ratio_n"] > 1 else ""
    text = f"{units.number(value, 2)}{around}{' ‖' if row['ratio_paired'] else ''}"
    if row["ratio_n"] < FEWEST_FOR_INTERVAL:
        return Field(text, value, kind=FEW)
    return Field(text, value, heat(value, 1, more) if value else 0.0)
