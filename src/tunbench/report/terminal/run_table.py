"""The final table of a run for the terminal, with the warnings below it."""

from collections.abc import Mapping
from typing import Any

import polars as pl
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tunbench.analysis import baseline
from tunbench.analysis.audit.warnings import Warning
from tunbench.analysis.findings import Findings, costly, of_several, verdict_of, workloads
from tunbench.report import units
from tunbench.report.charts.palette import style_of
from tunbench.report.tables import stopping
from tunbench.report.terminal import by_workload

FEW = 2
"""Workloads that stand side by side in one table at most."""

MAIN = ("throughput", "cost", "rtt", "loss")
"""Metrics that the table has."""

INTERVAL = len("[11.8, 12.1]")
"""Characters of a column that breaks its lines between a median and its interval only."""


def table(findings: Findings) -> RenderableType:
    """Stacks by profiles: throughput with its interval, its ratio to `none`, cost, round-trip time, loss, verdict.

    Where there are more than FEW workloads, a table for each.
    """
    notes = [f"– is no ratio: {reason}" for reason in baseline.listed(_without_ratio(findings))]
    if several := of_several(findings.cells, MAIN):
        notes.append(f"of several pairs or directions it is the first one ({', '.join(several)}); the report has all")
    below = [
        *(Text(line) for line in (*notes, *stopping.lines(findings))),
        *(_warning(one) for one in findings.warnings),
    ]
    rows = len(findings.conditions) * len(findings.stacks)
    number = len(by_workload.names(findings))
    tables = list(by_workload.tables(findings)) if number > FEW else [_table(findings)]
    more = rows * (number if number > FEW else 1) - sum(made.row_count for made in tables)
    left_out = [Text(f"… and {more} rows more; tunbench samples prints every value")] if more else []
    return Group(*tables, *left_out, *below)


def _table(findings: Findings) -> Table:
    made, of = _empty(findings), {metric: workloads(findings, metric) for metric in MAIN}
    of["cost"] = costly(findings)
    for condition in findings.conditions.values():
        for stack in findings.stacks:
            if made.row_count < by_workload.ROWS:
                made.add_row(*_row(findings, stack, condition, of))
        made.add_section()
    return made


def _without_ratio(findings: Findings) -> list[tuple[str, str]]:
    """Why throughputs that were measured have no ratio to `none`, each with its condition."""
    there = findings.cells.filter((pl.col("metric") == "throughput") & pl.col("ratio_median").is_null())
    places = there.select("stack", "condition", "workload").unique(maintain_order=True).iter_rows()
    return [
        (baseline.missing(findings, stack, condition, workload, "throughput"), condition)
        for stack, condition, workload in places
    ]


def _empty(findings: Findings) -> Table:
    fast, late = workloads(findings, "throughput"), workloads(findings, "rtt")
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    made.add_column("stack", overflow="fold")
    made.add_column("profile", overflow="fold")
    measured, width = ("throughput [low, high]", INTERVAL) if _ranged(findings) else ("throughput", by_workload.RATE)
    for workload in fast:
        made.add_column(_heading(measured, workload, fast), justify="right", overflow="fold", min_width=width)
        made.add_column("÷ none", justify="right")
        if workload in costly(findings):
            made.add_column("cost", justify="right", no_wrap=True)
    for workload in late:
        made.add_column(_heading("rtt", workload, late), justify="right", overflow="fold")
    for workload in workloads(findings, "loss"):
        made.add_column(_heading("loss", workload, workloads(findings, "loss")), justify="right", overflow="fold")
    made.add_column("verdict", overflow="fold")
    return made


def _ranged(findings: Findings) -> bool:
    """Whether any throughput has an interval."""
    throughput = pl.col("metric") == "throughput"
    return not findings.cells.filter(throughput & (pl.col("low") != pl.col("high"))).is_empty()


def _heading(name: str, workload: str, among: list[str]) -> Text:
    """The metric, and the workload where several measured it."""
    # Text, not markup: what stands in brackets is shown as it is.
    return Text(name if len(among) == 1 else f"{name}\n{workload}")


def _row(findings: Findings, stack: str, condition: str, of: Mapping[str, list[str]]) -> list[Text]:
    def found(workload: str, metric: str) -> dict[str, Any]:
        return findings.central.get((stack, condition, workload, metric), {})

    fields = [stack, condition]
    for workload in of["throughput"]:
        row = found(workload, "throughput")
        fields += [_interval(row), units.ratio(row.get("ratio_median"))]
        fields += [_median(found(workload, "cost"))] if workload in of["cost"] else []
    for metric in ("rtt", "loss"):
        fields += [_median(found(workload, metric)) for workload in of[metric]]
    verdict = verdict_of(findings, stack, condition)
    return [*(Text(field) for field in fields), Text(verdict, style=style_of(verdict))]


def _interval(found: dict[str, Any]) -> str:
    if not found:
        return units.NOTHING
    low, median, high = found["low"], found["median"], found["high"]
    value = units.quantity(median, found["unit"])
    # One trial alone has no range.
    return value if low == high else f"{value} {units.interval(low, median, high, found['unit'])}"


def _median(found: dict[str, Any]) -> str:
    return units.quantity(found["median"], found["unit"]) if found else units.NOTHING


def _warning(warning: Warning) -> Text:
    first, others = warning.found[0], len(warning.found) - 1
    more = f" (and {others} more)" if others else ""
    text = Text(f"\n{warning.name}", style="yellow")
    text.append(f": {first.where}: {first.text}{more}\n", style="default")
    return text.append(f"  {warning.kind.mend}", style="dim")
