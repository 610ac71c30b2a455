"""For the terminal, where a run has many workloads: a table for each, with what it measured."""

from collections.abc import Iterator

import polars as pl
from rich import box
from rich.table import Table
from rich.text import Text

from tunbench.analysis.findings import Findings, verdict_of
from tunbench.analysis.verdicts import executed
from tunbench.report import units
from tunbench.report.charts.palette import style_of
from tunbench.runner import invocation
from tunbench.runner.declare.metrics import Metric

MOST = 5
"""Metrics of a workload that are shown: it names the most important ones first."""

ROWS = 1000
"""Rows of all tables at most."""

RATE = len("1.00 Gbit/s")
"""Characters that a column of what is compared keeps: a narrow terminal breaks others first."""

COST = Metric("s/B", "busy time of the machine for each byte")


def names(findings: Findings) -> list[str]:
    """The workloads of a run, in their order."""
    return list(dict.fromkeys(trial.cell["workload"] for trial in executed(findings.record)))


def tables(findings: Findings) -> Iterator[Table]:
    """A table for each workload: medians over repeats, the ratio to `none` of what is the better the more, verdicts."""
    left = ROWS
    for workload in names(findings):
        if left:
            yield (made := _table(findings, workload, left))
            left -= made.row_count


def _table(findings: Findings, workload: str, most: int) -> Table:
    metrics = _metrics(findings, workload)
    made = Table(title=Text(workload), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for name in ("stack", "profile"):
        made.add_column(name, overflow="fold")
    for name, metric in metrics.items():
        least = RATE if metric.more_is_better else None
        made.add_column(name, justify="right", overflow="fold", min_width=least)
        if metric.more_is_better:
            made.add_column("÷ none", justify="right")
    made.add_column("verdict", overflow="fold")
    for condition in findings.conditions.values():
        for stack in findings.stacks[: most - made.row_count]:
            verdict = verdict_of(findings, stack, condition, workload)
            fields = [
                field for name in metrics for field in _fields(findings, workload, stack, condition, name, metrics)
            ]
            made.add_row(Text(stack), Text(condition), *fields, Text(verdict, style=style_of(verdict)))
        made.add_section()
    return made


def _metrics(findings: Findings, workload: str) -> dict[str, Metric]:
    """The metrics that a workload has values of, as it lists them, and the cost of a byte where it has a throughput."""
    measured = set(findings.cells.filter(pl.col("workload") == workload)["metric"].to_list())
    try:
        declared = dict(invocation.read(workload).module.ABOUT.metrics)
    except ValueError:
        # A run of another version may know workloads that this one does not.
        declared = {}
    shown = {name: metric for name, metric in declared.items() if name in measured}
    shown = dict(list(shown.items())[:MOST])
    return shown | ({"cost": COST} if {"throughput", "cost"} <= measured else {})


def _fields(
    findings: Findings, workload: str, stack: str, condition: str, name: str, metrics: dict[str, Metric]
) -> list[str]:
    found = findings.central.get((stack, condition, workload, name), {})
    value = units.quantity(found["median"], found["unit"]) if found else units.NOTHING
    return [value, units.ratio(found.get("ratio_median"))] if metrics[name].more_is_better else [value]
