"""A run on one screen: throughput, cost, round-trip time and loss, a row a stack and condition."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tunbench.analysis import missing_ratios
from tunbench.analysis.findings import Findings, costly, of_several, verdict_of, workloads
from tunbench.report import units
from tunbench.report.tables import workload_summaries
from tunbench.report.tables.table import PLACE_COLUMNS, Column, Field, Table, TableRow
from tunbench.report.tables.workload_summaries import MAX_ROWS, RATE
from tunbench.report.view import View

MAX_WORKLOADS = 2
"""Workloads that stand side by side in one table at most."""

METRICS = ("throughput", "cost", "rtt", "loss")
"""The metrics of the table."""

INTERVAL = len("[11.8, 12.1]")
"""Characters of a column that breaks its lines between a median and its interval only."""


def tables(view: View) -> list[Table]:
    """One table of the first run; where it has more than MAX_WORKLOADS workloads, one for each of them."""
    findings = view.runs[0]
    names = workload_summaries.names(findings)
    made = workload_summaries.tables(findings) if len(names) > MAX_WORKLOADS else [_table(findings)]
    rows = len(findings.conditions) * len(findings.stacks) * (len(names) if len(names) > MAX_WORKLOADS else 1)
    left_out = rows - sum(len(table.rows) for table in made)
    return [*made[:-1], made[-1]._replace(left_out=left_out, notes=_notes(findings))]


def _notes(findings: Findings) -> tuple[str, ...]:
    """Why a ratio is missing, and of which workloads one of several values is shown."""
    notes = [f"– is no ratio: {reason}" for reason in missing_ratios.reasons_with_conditions(_without_ratio(findings))]
    if several := of_several(findings.cells, METRICS):
        notes.append(f"of several pairs or directions it is the first one ({', '.join(several)}); the report has all")
    return tuple(notes)


def _without_ratio(findings: Findings) -> list[tuple[str, str]]:
    """Why throughputs that were measured have no ratio to `none`, each with its condition."""
    there = findings.cells.filter((pl.col("metric") == "throughput") & pl.col("ratio_median").is_null())
    places = there.select("stack", "condition", "workload").unique(maintain_order=True).iter_rows()
    return [
        (missing_ratios.reason(findings, stack, condition, workload, "throughput"), condition)
        for stack, condition, workload in places
    ]


def _table(findings: Findings) -> Table:
    measured = {metric: workloads(findings, metric) for metric in METRICS} | {"cost": costly(findings)}
    cells = [(stack, condition) for condition in findings.conditions.values() for stack in findings.stacks]
    rows = [_row(findings, stack, condition, measured) for stack, condition in cells[:MAX_ROWS]]
    return Table("summary", "", _columns(findings, measured), rows)


def _columns(findings: Findings, measured: Mapping[str, Sequence[str]]) -> tuple[Column, ...]:
    columns = list(PLACE_COLUMNS)
    name, least = ("throughput [low, high]", INTERVAL) if _has_intervals(findings) else ("throughput", RATE)
    for workload in measured["throughput"]:
        columns.append(Column(_heading(name, workload, measured["throughput"]), True, least=least))
        columns.append(Column("÷ none", True))
        columns += [Column("cost", True, whole=True)] if workload in measured["cost"] else []
    for metric in ("rtt", "loss"):
        columns += [Column(_heading(metric, workload, measured[metric]), True) for workload in measured[metric]]
    return (*columns, Column("verdict"))


def _has_intervals(findings: Findings) -> bool:
    """Whether any throughput has an interval."""
    throughput = pl.col("metric") == "throughput"
    return not findings.cells.filter(throughput & (pl.col("low") != pl.col("high"))).is_empty()


def _heading(name: str, workload: str, among: Sequence[str]) -> str:
    """The metric, and the workload where several measured it."""
    return name if len(among) == 1 else f"{name}\n{workload}"


def _row(findings: Findings, stack: str, condition: str, measured: Mapping[str, Sequence[str]]) -> TableRow:
    def found(workload: str, metric: str) -> dict[str, Any]:
        return findings.central.get((stack, condition, workload, metric), {})

    texts = [stack, condition]
    for workload in measured["throughput"]:
        row = found(workload, "throughput")
        texts += [_with_interval(row), units.ratio(row.get("ratio_median"))]
        texts += [_median(found(workload, "cost"))] if workload in measured["cost"] else []
    for metric in ("rtt", "loss"):
        texts += [_median(found(workload, metric)) for workload in measured[metric]]
    fields = (*map(Field, texts), Field(verdict_of(findings, stack, condition), kind="verdict"))
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
