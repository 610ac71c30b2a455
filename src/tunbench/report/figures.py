"""Which charts a report has, and the rows of each."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import polars as pl

from tunbench.analysis.findings import Findings
from tunbench.analysis.ratios import is_baseline, underlay
from tunbench.analysis.verdicts import executed, place, summary
from tunbench.report import charts, scatter, svg, units
from tunbench.report.charts import Heat, Row, Spread
from tunbench.report.scatter import Pair

PERCENTILES = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99}


class Panel(NamedTuple):
    """One chart of a figure: its heading, and the chart as SVG that is safe to stand in the page."""

    heading: str
    svg: str


class Figure(NamedTuple):
    """Charts that belong together, one a condition, of the workload that is named."""

    workload: str
    panels: list[Panel]


def throughput(findings: Findings) -> list[Figure]:
    """For each workload that has a throughput: medians with intervals, a panel a condition."""
    return _intervals(findings, "throughput", "bit/s", workloads(findings, "throughput"))


def cost(findings: Findings) -> list[Figure]:
    """For each workload that has a throughput: the cost of a byte, medians with intervals, a panel a condition."""
    return _intervals(findings, "cost", "s/B", costly(findings))


def relative(findings: Findings) -> list[Figure]:
    """For each workload that has a throughput: its ratio to `none`, stacks by conditions."""
    figures = []
    for number, workload in enumerate(workloads(findings, "throughput")):
        cells = heat_cells(findings, workload)
        if any(cell.ratio is not None for cell in cells):
            told = "; ".join(f"{cell.stack}, {cell.condition}: {units.ratio(cell.ratio)}" for cell in cells)
            title = f"Throughput of {workload} relative to none"
            figures.append(
                Figure(workload, [Panel("", svg.render(charts.heat(cells), f"relative-{number}", title, told))])
            )
    return figures


def latency(findings: Findings) -> list[Figure]:
    """For each workload that has a throughput: round-trip time of the first that has one, over throughput."""
    pings = workloads(findings, "rtt")

    def draw(condition: str, workload: str, name: str) -> str:
        pairs = pairs_of(findings, workload, pings[0], condition)
        told = "; ".join(
            f"{across.stack}: {units.quantity(across.median, 'bit/s')}, {units.quantity(up.median, 's')}"
            for across, up in pairs
        )
        chart = scatter.draw(pairs, ("bit/s", "s"), ("throughput", "round-trip time")) if pairs else None
        return svg.render(chart, name, f"Round-trip time over throughput, {condition}", told) if chart else ""

    return _figures(findings, workloads(findings, "throughput"), "latency", draw) if pings else []


def distribution(findings: Findings) -> list[Figure]:
    """For each workload that has round-trip times: the quantiles of all raw replies, a panel a condition."""

    def draw(condition: str, workload: str, name: str) -> str:
        rows = spreads_of(findings, "rtt", workload, condition)
        told = "; ".join(
            f"{row.stack}: median {units.quantity(row.p50, 's')}, 99th percentile {units.quantity(row.p99, 's')}"
            for row in rows
        )
        title = f"Round-trip times of {workload}, {condition}"
        chart = charts.spreads(rows, "s", "round-trip time") if rows else None
        return svg.render(chart, name, title, told) if chart else ""

    return _figures(findings, workloads(findings, "rtt"), "distribution", draw)


def workloads(findings: Findings, metric: str) -> list[str]:
    """The workloads that measured a metric, sorted."""
    return sorted(findings.cells.filter(pl.col("metric") == metric)["workload"].unique().to_list())


def costly(findings: Findings) -> list[str]:
    """The workloads that measured both a throughput and a cost, sorted: the others carry too little for a byte's."""
    return sorted(set(workloads(findings, "throughput")) & set(workloads(findings, "cost")))


def rows_of(findings: Findings, metric: str, workload: str, condition: str) -> list[Row]:
    """A row a stack: the metric's estimate, the values of its trials, and the median of its `none`."""
    kept = [_chosen(table, metric, workload, condition) for table in (findings.cells, findings.values)]
    values = dict(kept[1].group_by("stack").agg("value").iter_rows())
    medians = kept[0].select("stack", "median", "low", "high").rows()
    bare = {underlay(stack): median for stack, median, *_ in medians if is_baseline(stack)}
    return [
        Row(stack, underlay(stack) == "ethernet", median, low, high, values[stack], bare.get(underlay(stack)))
        for stack, median, low, high in medians
    ]


def pairs_of(findings: Findings, fast: str, late: str, condition: str) -> list[Pair]:
    """The stacks that have a throughput in the workload `fast` and a round-trip time in `late`."""
    across = rows_of(findings, "throughput", fast, condition)
    up = {row.stack: row for row in rows_of(findings, "rtt", late, condition)}
    return [Pair(row, up[row.stack]) for row in across if row.stack in up]


def spreads_of(findings: Findings, metric: str, workload: str, condition: str) -> list[Spread]:
    """A row a stack: quantiles of the raw values of all its trials together."""
    raw = findings.samples.filter(
        (pl.col("metric") == metric)
        & (pl.col("workload") == workload)
        & (pl.col("condition") == condition)
        & pl.col("at").is_not_null()
    )
    quantiles = [pl.col("value").quantile(at, "linear").alias(name) for name, at in PERCENTILES.items()]
    return [Spread(*row) for row in raw.group_by("stack", maintain_order=True).agg(quantiles).iter_rows()]


def heat_cells(findings: Findings, workload: str) -> list[Heat]:
    """Every stack but `none` in every condition: the ratio of its throughput, or the verdict that it has instead."""
    known = findings.cells.filter(
        (pl.col("metric") == "throughput") & (pl.col("workload") == workload) & pl.col("ratio_median").is_not_null()
    )
    ratios = {
        (stack, condition): value
        for stack, condition, value in known.select("stack", "condition", "ratio_median").rows()
    }
    return [
        Heat(stack, condition, ratios.get((stack, condition)), verdict_of(findings, stack, condition, workload))
        for stack in findings.stacks
        for condition in findings.conditions.values()
        if not is_baseline(stack)
    ]


def verdict_of(findings: Findings, stack: str, condition: str, workload: str | None = None) -> str:
    """The verdict of a stack's trials in a condition, in words; of one workload, or of all."""
    return summary(
        [
            trial
            for trial in executed(findings.record)
            if trial.cell["stack"] == stack
            and findings.conditions[place(trial.cell)] == condition
            and workload in (None, trial.cell["workload"])
        ]
    )


def _intervals(findings: Findings, metric: str, unit: str, of: Sequence[str]) -> list[Figure]:
    """For each of these workloads: medians of the metric with intervals, a panel a condition."""

    def draw(condition: str, workload: str, name: str) -> str:
        rows = rows_of(findings, metric, workload, condition)
        title = f"{metric.capitalize()} of {workload}, {condition}"
        chart = charts.intervals(rows, unit, metric) if rows else None
        return svg.render(chart, name, title, _told(rows, unit)) if chart else ""

    return _figures(findings, of, metric, draw)


def _figures(findings: Findings, of: Sequence[str], name: str, draw: Callable[[str, str, str], str]) -> list[Figure]:
    """A figure for each of these workloads; a condition without rows has no panel."""
    figures = []
    for number, workload in enumerate(of):
        drawn = (
            Panel(condition, draw(condition, workload, f"{name}-{number}-{index}"))
            for index, condition in enumerate(findings.conditions.values())
        )
        figures.append(Figure(workload, [panel for panel in drawn if panel.svg]))
    return figures


def _chosen(table: pl.DataFrame, metric: str, workload: str, condition: str) -> pl.DataFrame:
    return table.filter(
        (pl.col("metric") == metric)
        & (pl.col("workload") == workload)
        & (pl.col("condition") == condition)
        & pl.col("statistic").is_in(["value", "median"])
    )


def _told(rows: Sequence[Row], unit: str) -> str:
    """The rows of a chart in words, for those who cannot see it."""
    return "; ".join(
        f"{row.stack}: {units.quantity(row.median, unit)} {units.interval(row.low, row.median, row.high, unit)}"
        for row in rows
    )
