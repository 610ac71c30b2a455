"""The tables of a report that show at a glance who is ahead: their cells are the fuller, the better."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import polars as pl

from tunbench.analysis import baseline, metrics
from tunbench.analysis.cells import CENTRAL, WHOLE
from tunbench.analysis.findings import of_several
from tunbench.analysis.ratios import is_baseline
from tunbench.report import questions, units
from tunbench.report.tables import tables
from tunbench.report.tables.tables import Column, Field, Row, Table
from tunbench.report.view import View
from tunbench.runner.declare.metrics import Question

FIELDS = 50_000
"""Fields of a table whose columns are conditions or workloads: of more, most are empty."""


def headline(view: View) -> Table:
    """The run at a glance: a row a stack and condition, with what is asked first; the fuller a cell, the better."""
    shown = _headlines(view)
    columns = [*tables.place_columns(view), Column("verdict")]
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
        rows.append(tables.place(view, place, (Field(told_of, kind=kind), *fields)))
    told = "; ".join(dict.fromkeys(f"{metric.split()[0]}: {workload}" for workload, metric, *_ in shown))
    caption = f"Medians over all trials; the fuller a cell, the better among its neighbours of one profile. {told}."
    caption += _first_of(of_several(view.cells, [metric.partition(" ")[0] for _, metric, *_ in shown]), shown)
    caption += _dashes([(field.why, row.fields[1].text) for row in rows for field in row.fields if field.why])
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


def relative(view: View, metric: str) -> Table:
    """For each workload with this metric: its ratio to `none`, stacks by conditions."""
    most = max(1, FIELDS // (len(view.conditions) + 2))
    every = (row for workload in view.measuring(metric) for row in _relatives(view, workload, metric))
    rows = list(islice(every, most))
    columns = [Column(name, True, "", index) for index, name in enumerate(view.conditions)]
    caption = (
        f"{metric} ÷ that of none with the same seed, profile and kind of underlay: the median over seeds. "
        "1 is as without a tunnel; the fuller a cell, the better."
    )
    fields = [(field, place) for row in rows for field, place in zip(row.fields[2:], view.conditions, strict=True)]
    caption += _dashes([(field.why, place) for field, place in fields if field.why])
    caption += _shortened(most) if len(rows) == most else ""
    return Table(f"relative-{metric}", caption, (Column("stack"), Column("workload"), *columns), rows)


def by_metric(view: View, key: Question) -> Table:
    """What answers a question, a row a stack and condition and a column a metric of a workload: medians."""
    kept = view.cells.filter(pl.col("statistic").is_in(CENTRAL))
    unit_of = dict(kept.select("metric", "unit").unique().iter_rows())
    kept = kept.filter(pl.col("metric").is_in([one for one in unit_of if questions.question(one, unit_of[one]) == key]))
    pairs = kept.select("workload", "metric").unique(maintain_order=True).rows()
    pairs = sorted(pairs, key=lambda pair: (view.places.workloads[pair[0]], metrics.rank(*pair)))
    index = {pair: number for number, pair in enumerate(pairs)}
    most = max(1, FIELDS // (len(pairs) + 2))
    found: dict[tuple[str, str, str, str], list[Field]] = {}
    for row in kept.iter_rows(named=True):
        place = (row["run"], row["stack"], row["name"], row["condition"])
        if place not in found and len(found) == most:
            continue
        fields = found.setdefault(place, [Field(units.NOTHING)] * len(pairs))
        fields[index[row["workload"], row["metric"]]] = Field(units.quantity(row["median"], row["unit"]), row["median"])
    rows = [
        tables.place(view, dict(zip(("run", "stack", "name", "condition"), place, strict=True)), tuple(fields))
        for place, fields in found.items()
    ]
    columns = [
        Column(f"{metric}, {workload}" if workload != metric else metric, True, unit_of[metric])
        for workload, metric in pairs
    ]
    caption = f"Medians over all trials.{_shortened(most) if len(rows) == most else ''}"
    return Table(f"{key}-table", caption, (*tables.place_columns(view), *columns), rows)


def heat(value: float, best: float, more: bool) -> float:
    """How full a cell is, from 0 to 1 for the best: value ÷ best, or best ÷ value where less is better."""
    over, under = (abs(value), best) if more else (best, abs(value))
    return 1.0 if over == under else min(1.0, over / under) if under else 0.0


def _relatives(view: View, workload: str, metric: str) -> Iterator[Row]:
    names: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in view.central.get((workload, metric), []):
        if row["ratio_median"] is not None and not is_baseline(row["stack"]):
            names.setdefault((row["run"], row["stack"], row["name"]), {})[row["condition"]] = row["ratio_median"]
    ordered = sorted(names, key=lambda key: (view.places.stacks[key[1]], view.places.labels[key[0]]))
    for name in ordered:
        yield _relative(view, workload, metric, name, names[name])


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


def _shortened(most: int) -> str:
    """That a table has no more rows, as the end of a caption."""
    return f" A table of so many columns has {most} rows at most."


def _dashes(reasons: Sequence[tuple[str, str]]) -> str:
    """What a dash instead of a ratio stands for, as the end of a caption."""
    return f" A dash is no ratio, because {'; '.join(baseline.listed(reasons))}." if reasons else ""


def _no_ratio(view: View, run: str, stack: str, condition: str, workload: str, metric: str) -> Field:
    findings = view.runs[view.labels.index(run)]
    why = baseline.missing(findings, stack, condition, workload, metric)
    return Field(units.NOTHING, kind="quiet", why=why)


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
        return [value, _no_ratio(view, run, stack, condition, row["workload"], found.metric)]
    return [value, tables.ratio(ratio)._replace(heat=min(1, ratio))]


def _relative(view: View, workload: str, metric: str, key: tuple[str, str, str], ratios: Mapping[str, float]) -> Row:
    run, stack, name = key
    fields = [Field(name, kind="stack"), Field(workload, kind="stack workload")]
    for condition in view.conditions:
        ratio = ratios.get(condition)
        if ratio is None:
            verdict = view.verdict(run, stack, condition, workload)
            measured = "ok" in verdict
            told = _no_ratio(view, *key[:2], condition, workload, metric) if measured else Field(verdict, kind="quiet")
            fields.append(told)
        else:
            fields.append(Field(units.number(ratio, 2), ratio, heat(ratio, 1, metric != "rtt") if ratio else 0.0))
    at = view.places
    return Row(tuple(fields), at.stacks[stack], -1, at.workloads[workload], at.labels[run])


def _called(view: View, stack: str, run: str) -> str:
    return f"{stack} · {run}" if view.several else stack
