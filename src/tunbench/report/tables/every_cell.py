"""The table of everything: every cell and metric with its interval, ratio to `none`, and coefficient of variation."""

from collections.abc import Mapping
from typing import Any

from tunbench.analysis.bootstrap import spread, variation
from tunbench.analysis.cells import METRIC
from tunbench.analysis.metrics import spelled
from tunbench.analysis.samples import CELL
from tunbench.analysis.statistics import FEWEST_FOR_INTERVAL, RANGE
from tunbench.report import units
from tunbench.report.tables.table import PLACE_COLUMNS, Column, Field, Table, placed, ratio_field
from tunbench.report.view import View

MAX_ROWS_WITH_INTERVAL = 2000
"""Rows up to which coefficients of variation have an interval: each takes about 2 ms."""


def table(view: View) -> Table:
    """Every cell and metric: median, interval, ratio to `none`, and coefficient of variation."""
    columns = (
        *PLACE_COLUMNS,
        *(Column("workload"), Column("metric"), Column("unit"), Column("n", True), Column("median", True)),
        *(Column("low", True), Column("high", True), Column("kind"), Column("÷ none", True)),
        *(Column("ratio low", True), Column("ratio high", True), Column("ratio of")),
        *(Column("CV", True), Column("CV low", True), Column("CV high", True)),
    )
    caption = (
        "One row a cell and metric: the median over n trials, and its interval. What a workload has as a series is "
        "first reduced to each trial’s median, p95 or p99. The ratio is to none, of medians, or where both move "
        "together with the seed, which it says, the median of ratios within a seed; it is empty where none has no "
        "trial that is ok, or one of 0. CV is the coefficient of variation "
        f"between trials; it has its BCa interval where there are at least {FEWEST_FOR_INTERVAL} of them, and at most "
        f"{MAX_ROWS_WITH_INTERVAL} rows."
    )
    varied = _varied(view)
    rows = [
        placed(
            view,
            row,
            (*_measured(view, row), *(ratio_field(value) for value in varied.get(_key(row), (None, None, None)))),
        )
        for row in view.cells.iter_rows(named=True)
    ]
    return Table("measured", caption, columns, rows)


def _measured(view: View, row: Mapping[str, Any]) -> tuple[Field, ...]:
    shown = units.scale(row["median"], row["unit"])
    low, high = (Field(units.in_scale(row[name], row["unit"], shown), row[name]) for name in ("low", "high"))
    noisy = view.noisy(row["run"], row["stack"], row["condition"], row["workload"])
    kind = row["kind"] if row["kind"] != RANGE else f"{row['kind']} ({100 * row['coverage']:.0f}{units.NBSP}%)"
    return (
        Field(row["workload"], kind="stack workload"),
        Field(spelled(row["metric"], row["statistic"]), kind="metric"),
        Field(row["unit"], kind="quiet"),
        Field(f"{row['n']}, {noisy} noisy" if noisy else str(row["n"]), row["n"]),
        Field(units.quantity(row["median"], row["unit"]), row["median"]),
        low,
        high,
        Field(kind, kind="quiet"),
        *(ratio_field(row[f"ratio_{name}"]) for name in ("median", "low", "high")),
        Field({None: "", True: "pairs", False: "medians"}[row["ratio_paired"]], kind="quiet"),
    )


def _varied(view: View) -> dict[tuple[str, ...], tuple[float | None, float | None, float | None]]:
    """The coefficient of variation of each cell and metric with its interval, which is None where it has none."""
    columns = ("run", *CELL, *METRIC)
    groups = view.values.group_by(columns).agg("value")
    few = len(groups) <= MAX_ROWS_WITH_INTERVAL
    found: dict[tuple[str, ...], tuple[float | None, float | None, float | None]] = {}
    for *key, values in groups.iter_rows():
        interval = few and len(values) >= FEWEST_FOR_INTERVAL
        one = variation(values) if interval else None
        found[tuple(key)] = (one.value, one.low, one.high) if one else (spread(values), None, None)
    return found


def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("run", *CELL, *METRIC))
