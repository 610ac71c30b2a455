"""The run at a glance: what is asked first, a row a stack and condition."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from tunbench.analysis.cells import WHOLE
from tunbench.analysis.findings import of_several
from tunbench.report import units
from tunbench.report.tables.heat import dashes, heat, no_ratio
from tunbench.report.tables.table import PLACE_COLUMNS, Column, Field, Table, placed, ratio_field
from tunbench.report.view import View


def table(view: View) -> Table:
    """The run at a glance: a row a stack and condition, with what is asked first; the fuller a cell, the better."""
    shown = _headlines(view)
    columns = [*PLACE_COLUMNS, Column("verdict")]
    unit_of = dict(view.cells.select("metric", "unit").unique().iter_rows())
    for workload, metric, _, _ in shown:
        several = len({one for one, name, *_ in shown if name == metric}) > 1
        name = f"{metric}, {workload}" if several else metric
        columns.append(Column(name, True, unit_of[metric.split()[0]]))
        columns += [Column(f"÷ none, {workload}" if several else "÷ none", True)] if metric == "throughput" else []
    rows = []
    found = [_best(view, *one) for one in shown]
    for condition, stack, run in _there(view):
        fields = [field for one in found for field in _headline(view, one, (condition, run, stack))]
        verdict = view.verdict(run, stack, condition)
        kind = "failed" if "failed" in verdict else "ok" if verdict.startswith("ok") else "unsupported"
        place = {"run": run, "stack": stack, "name": _called(view, stack, run), "condition": condition}
        # Where not all is well, only that is told.
        told_of = verdict.partition(" ok, ")[2] or verdict
        rows.append(placed(view, place, (Field(told_of, kind=kind), *fields)))
    told = "; ".join(dict.fromkeys(f"{metric.split()[0]}: {workload}" for workload, metric, *_ in shown))
    caption = f"Medians over all trials; the fuller a cell, the better among its neighbours of one profile. {told}."
    caption += _first_of(of_several(view.cells, [metric.partition(" ")[0] for _, metric, *_ in shown]), shown)
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


def _headlines(view: View) -> list[tuple[str, str, str, bool]]:
    """Workload, metric (with its statistic), statistic and whether more is better, of what is asked first."""
    name = "throughput" if view.measuring("throughput") else "goodput"
    fast = _first_of_each_program(view, name)[:2]
    found = [(workload, name, WHOLE, True) for workload in fast]
    late = view.measuring("rtt")[:1]
    found += [(workload, "rtt", "median", False) for workload in late]
    found += [(workload, "rtt p99", "p99", False) for workload in late]
    found += [(workload, "loss", WHOLE, False) for workload in view.measuring("loss")[:1]]
    costly = [workload for workload in fast if workload in view.measuring("cost")]
    return found + [(workload, "cost", WHOLE, False) for workload in costly[:1]]


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
    """A metric's rows by condition, run and stack, and the best median of each condition."""

    metric: str
    more: bool
    rows: Mapping[tuple[str, str, str], Mapping[str, Any]]
    best: Mapping[str, float]


def _best(view: View, workload: str, metric: str, statistic: str, more: bool) -> _Best:
    """What the headline shows of a metric; of several pairs or nodes the first one's."""
    kept = view.cells.filter(
        (pl.col("workload") == workload) & (pl.col("metric") == metric.split()[0]) & (pl.col("statistic") == statistic)
    )
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in kept.iter_rows(named=True):
        found.setdefault((row["condition"], row["run"], row["stack"]), row)
    medians: dict[str, list[float]] = {}
    for (condition, *_), row in found.items():
        medians.setdefault(condition, []).append(abs(row["median"]))
    best = {condition: max(values) if more else min(values) for condition, values in medians.items()}
    return _Best(metric, more, found, best)


def _first_of(several: Sequence[str], shown: Sequence[tuple[str, str, str, bool]]) -> str:
    """That a table shows one of several pairs or directions of some workloads, as the end of a caption."""
    concerned = [name for name in dict.fromkeys(workload for workload, *_ in shown) if name in several]
    return f" Of several pairs or directions it is the first one: {', '.join(concerned)}." if concerned else ""


def _headline(view: View, found: _Best, key: tuple[str, str, str]) -> list[Field]:
    condition, run, stack = key
    with_ratio = found.metric == "throughput"
    row = found.rows.get(key)
    if row is None:
        return [Field(units.NOTHING)] * (2 if with_ratio else 1)
    heated = heat(row["median"], found.best[condition], found.more)
    value = Field(units.quantity(row["median"], row["unit"]), row["median"], heated)
    if not with_ratio:
        return [value]
    ratio = row["ratio_median"]
    if ratio is None:
        return [value, no_ratio(view, run, stack, condition, row["workload"], found.metric)]
    return [value, ratio_field(ratio)._replace(heat=min(1, ratio))]


def _called(view: View, stack: str, run: str) -> str:
    return f"{stack} · {run}" if view.several else stack
