"""A figure for each metric of each workload: a strip for each stack, with its values, interval and quantiles."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import polars as pl

from tunbench.analysis import metrics
from tunbench.analysis.cells import CENTRAL
from tunbench.analysis.ratios import is_baseline, underlay
from tunbench.report import questions, units
from tunbench.report.charts import strips
from tunbench.report.charts.canvas import Mark
from tunbench.report.charts.figure import (
    MAX_UNFOLDED,
    MAX_UNFOLDED_OF_SEVERAL,
    Figure,
    Panel,
    address_of,
    marks,
    words_of,
)
from tunbench.report.charts.strips import Box, Strip
from tunbench.report.view import View
from tunbench.runner.declare.metrics import Question

PERCENTILES = {"p5": 0.05, "p25": 0.25, "p75": 0.75, "p95": 0.95, "p99": 0.99}

KEY = ("workload", "metric", "condition", "run", "stack", "pair", "node")


class Series(NamedTuple):
    """Raw values of one row of a chart: their quantiles, their number, and they themselves where they are few."""

    box: Box
    number: int
    values: Sequence[float]


class Chart(NamedTuple):
    """The strips of one condition, and the unit of their values."""

    condition: str
    strips: list[Strip]
    unit: str


def figures(view: View, question: Question) -> list[Figure]:
    """The figures that answer a question or bear on it, those that answer it first."""
    cells = view.cells.filter(pl.col("statistic").is_in(CENTRAL))
    wanted = [
        (number, workload, metric, main)
        for number, (workload, metric, unit, main) in enumerate(_order(view, cells))
        if questions.question(metric, unit) == question
    ]
    names = {metric for _, _, metric, _ in wanted}
    of_question = pl.col("metric").is_in(list(names))
    rows = _grouped(cells.filter(of_question), ["workload", "metric", "condition"])
    values, series = _values(view.values.filter(of_question)), _series(view.samples.filter(of_question))
    drawn = marks(view)
    charts = {
        (workload, metric): [
            Chart(condition, _strips(view, here, values, series, drawn), here[0]["unit"])
            for condition in view.conditions
            if (here := rows.get((workload, metric, condition)))
        ]
        for _, workload, metric, _ in wanted
    }
    logs = _logarithmic(charts)
    found = [
        _figure(view, workload, metric, charts[workload, metric], number, main, logs[metric])
        for number, workload, metric, main in wanted
    ]
    return _unfolded(found)


def _logarithmic(charts: Mapping[tuple[str, str], Sequence[Chart]]) -> dict[str, bool]:
    """Which metrics have logarithmic axes: those of one stand side by side, and have one kind of scale."""
    of_metric: dict[str, list[list[Strip]]] = {}
    for (_, metric), some in charts.items():
        of_metric.setdefault(metric, []).extend(one.strips for one in some)
    return {
        metric: any(map(strips.wants_log, some)) and all(map(strips.bears_log, some))
        for metric, some in of_metric.items()
    }


def _figure(
    view: View, workload: str, metric: str, charts: Sequence[Chart], number: int, main: bool, log: bool
) -> Figure:
    heading, name = f"{metric} of {workload}", f"strip-{number}"
    panels = [
        Panel(
            one.condition,
            view.places.conditions[one.condition],
            partial(
                strips.draw, one.strips, one.unit, metric, f"{name}-{index}", f"{heading}, {one.condition}", log=log
            ),
        )
        for index, one in enumerate(charts)
    ]
    declared = metrics.about(workload, metric)
    better = "More is better." if declared and declared.more_is_better else ""
    summary = f"{declared.summary[:1].upper()}{declared.summary[1:]}." if declared else ""
    return Figure(
        f"figure-{number}",
        metric,
        workload,
        f"{summary} {better}".strip(),
        view.places.workloads[workload],
        panels,
        unfolded=main,
        main=main,
        rows=sum(len(one.strips) for one in charts),
    )


def _unfolded(found: Sequence[Figure]) -> list[Figure]:
    """The figures, of which the first main ones alone are unfolded."""
    most = MAX_UNFOLDED if all(len(one.panels) <= 1 for one in found) else MAX_UNFOLDED_OF_SEVERAL
    return [one._replace(unfolded=one.main and place < most) for place, one in enumerate(found)]


def _is_main(workload: str, metric: str, unit: str, carrying: Collection[str]) -> bool:
    """Whether this answers a question. The cost of a byte does where a workload is there to carry bytes."""
    costly = questions.question(metric, unit) == Question.COSTLY
    return questions.is_main(metric) and (not costly or workload in carrying)


def _order(view: View, cells: pl.DataFrame) -> list[tuple[str, str, str, bool]]:
    """Every workload, metric, its unit and whether it answers its question, in the order in which they are shown."""
    there = cells.select("workload", "metric", "unit").unique(maintain_order=True).rows()
    carrying = set(view.measuring(questions.first_at_a_glance(Question.FAST)))
    ranks = questions.ranks([(workload, metric) for workload, metric, _ in there], view.workloads)
    asked = list(Question)

    def key(row: tuple[str, str, str, bool]) -> tuple[Any, ...]:
        workload, metric, unit, main = row
        number = asked.index(questions.question(metric, unit))
        return (not main, number, ranks[metric], view.places.workloads[workload])

    return sorted(((*row, _is_main(row[0], row[1], row[2], carrying)) for row in there), key=key)


def _strips(
    view: View,
    rows: Sequence[Mapping[str, Any]],
    values: Mapping[tuple[str, ...], list[float]],
    every_series: Mapping[tuple[str, ...], Series],
    drawn: Mapping[tuple[str, str], Mark],
) -> list[Strip]:
    bare = {
        (row["run"], underlay(row["stack"]), row["pair"], row["node"]): row["median"]
        for row in rows
        if is_baseline(row["stack"])
    }
    made = []
    for row in rows:
        key = tuple(row[name] for name in KEY)
        series = every_series.get(key) if row["statistic"] == "median" else None
        trials = values.get(key, [])
        few = series is None or series.number <= strips.MAX_DOTS
        base = bare.get((row["run"], underlay(row["stack"]), row["pair"], row["node"]))
        made.append(
            Strip(
                row["name"],
                drawn[row["run"], row["stack"]],
                row["median"],
                row["low"],
                row["high"],
                (series.values if series else trials) if few else (),
                words_of(view, row, _spread(series, row["unit"])),
                series.box if series and series.number >= strips.FEWEST_FOR_QUANTILES else None,
                base if not is_baseline(row["stack"]) else None,
                address_of(view, row),
            )
        )
    return made


def _spread(series: Series | None, unit: str) -> str:
    """The quantiles of a series in words; nothing where its values are too few for them."""
    if series is None or series.number < strips.FEWEST_FOR_QUANTILES:
        return ""
    quantiles = ", ".join(f"{name} {units.quantity(value, unit)}" for name, value in series.box._asdict().items())
    return f"{series.number} values: {quantiles}"


def _grouped(table: pl.DataFrame, keys: Sequence[str]) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in table.iter_rows(named=True):
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def _values(values: pl.DataFrame) -> dict[tuple[str, ...], list[float]]:
    kept = values.filter(pl.col("statistic") == "value")
    return {tuple(key): value for *key, value in _listed(kept)}


def _listed(table: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    return table.group_by(KEY, maintain_order=True).agg(pl.col("value")).iter_rows()


def _series(samples: pl.DataFrame) -> dict[tuple[str, ...], Series]:
    """Every series of raw values."""
    raw = samples.filter(pl.col("at").is_not_null())
    quantiles = [pl.col("value").quantile(at, "linear").alias(name) for name, at in PERCENTILES.items()]
    few = pl.when(pl.len() <= strips.MAX_DOTS).then(pl.col("value").implode()).alias("few")
    found = raw.group_by(KEY).agg(*quantiles, pl.len().alias("count"), few)
    rows = ((row[: len(KEY)], row[len(KEY) :]) for row in found.iter_rows())
    return {key: Series(Box(*box), count, values or ()) for key, (*box, count, values) in rows}
