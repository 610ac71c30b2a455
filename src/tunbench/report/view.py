"""What a page shows: one run, or several side by side, as tables with a name for each row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import polars as pl

from tunbench.analysis import order
from tunbench.analysis.cells import CENTRAL
from tunbench.analysis.compare.runs import RunComparison, compare
from tunbench.analysis.compare.selection import CompareError
from tunbench.analysis.findings.findings import Answers, answers
from tunbench.analysis.run_analysis import RunAnalysis
from tunbench.analysis.verdicts import executed
from tunbench.journal.record import TrialResult
from tunbench.report import finding_wording, question_words
from tunbench.report.reported_run import ReportedRun
from tunbench.runner.declare.metrics import COUNTED
from tunbench.runner.declare.verdicts import Verdict

MEASURED_BY_RECEIVER = "throughput"
"""Metrics whose names begin so are what a node received, whatever their workload: `throughput`, `throughput-down`, ….

A row of one, where several nodes of a pair measured it, says from where to where the bytes went."""


class FilterNumbers(NamedTuple):
    """Numbers in the filters, by name."""

    stacks: dict[str, int]
    conditions: dict[str, int]
    workloads: dict[str, int]
    labels: dict[str, int]


@dataclass(frozen=True)
class View:
    """Runs side by side, or one alone.

    `cells`, `values` and `samples` are those of `RunAnalysis`, of all runs, with the columns `run` (its label) and
    `name` (what a row is called: the stack, and the pair, node or run where there are several).
    """

    reported: tuple[ReportedRun, ...]
    cells: pl.DataFrame
    values: pl.DataFrame
    samples: pl.DataFrame
    costs: pl.DataFrame
    stacks: list[str]
    conditions: list[str]
    workloads: list[str]

    @cached_property
    def runs(self) -> tuple[RunAnalysis, ...]:
        """What followed from each run."""
        return tuple(run.analysis for run in self.reported)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The label of each run; empty where there is one."""
        return tuple(run.label for run in self.reported)

    @cached_property
    def bases(self) -> tuple[str, ...]:
        """The way from a page to the folder of each run."""
        return tuple(run.base for run in self.reported)

    @property
    def several(self) -> bool:
        """Whether runs stand side by side."""
        return len(self.runs) > 1

    @cached_property
    def comparison(self) -> RunComparison | str:
        """The second of two runs compared with the first, or why it cannot be; of another number of runs nothing."""
        if len(self.runs) != 2:
            return ""
        try:
            return compare(*self.runs)
        except CompareError as error:
            return str(error)

    @cached_property
    def answers(self) -> tuple[Answers, ...]:
        """What each run answers."""
        return tuple(answers(run, workloads_of(run)) for run in self.runs)

    @cached_property
    def sentences(self) -> tuple[list[str], ...]:
        """The sentences on each run with which a report begins."""
        return tuple(finding_wording.sentences(run, own) for run, own in zip(self.runs, self.answers, strict=True))

    @cached_property
    def trials(self) -> dict[tuple[str, str, str, str], list[tuple[TrialResult, str]]]:
        """The trials of each run, stack, condition and workload, repeats rising, with the way to their run."""
        found: dict[tuple[str, str, str, str], list[tuple[TrialResult, str]]] = {}
        for label, base, run in zip(self.labels, self.bases, self.runs, strict=True):
            for trial in sorted(run.record.trials, key=lambda one: int(one.cell["repeat"])):
                key = (
                    label,
                    trial.cell["stack"],
                    run.conditions[order.condition_of(trial.cell)],
                    trial.cell["workload"],
                )
                found.setdefault(key, []).append((trial, base))
        return found

    @cached_property
    def places(self) -> FilterNumbers:
        """The place of each stack, condition, workload and run among all of them."""
        lists = (self.stacks, self.conditions, self.workloads, self.labels)
        return FilterNumbers(*({name: place for place, name in enumerate(names)} for names in lists))

    @cached_property
    def central(self) -> dict[tuple[str, str], list[dict[str, Any]]]:
        """The rows of `cells` that have a value or median, by workload and metric."""
        found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for row in self.cells.filter(pl.col("statistic").is_in(CENTRAL)).iter_rows(named=True):
            found.setdefault((row["workload"], row["metric"]), []).append(row)
        return found

    def verdict(self, run: str, stack: str, condition: str, workload: str | None = None) -> str:
        """The verdict of a stack's trials in words; of one workload, or of all."""
        found = self.runs[self.labels.index(run)]
        return found.verdicts.get((stack, condition, workload), "not run")

    def noisy(self, run: str, stack: str, condition: str, workload: str) -> int:
        """How many trials of a cell that count were disturbed."""
        trials = self.trials.get((run, stack, condition, workload), [])
        return sum(bool(trial.noisy) and trial.verdict == Verdict.OK for trial, _ in trials)

    def identifiers(self, name: str) -> list[str]:
        """What the sections of a name are called that each run has of its own."""
        return [f"{name}-{number + 1}" if number else name for number in range(len(self.runs))]

    def measuring(self, metric: str) -> list[str]:
        """The workloads that measured a metric, in the order of the plan."""
        measured = set(self.cells.filter(pl.col("metric") == metric)["workload"].unique().to_list())
        return [name for name in self.workloads if name in measured]


def side_by_side(reported: Sequence[ReportedRun]) -> View:
    """The runs as one. Conditions of the same name are the same; stacks and conditions keep the order of the runs."""
    runs, labels = [run.analysis for run in reported], [run.label for run in reported]
    stacks = order.by_underlay(dict.fromkeys(name for run in runs for name in run.stacks))
    conditions = list(dict.fromkeys(name for run in runs for name in run.conditions.values()))
    tables = _of_what_was_counted({name: _joined([getattr(run, name) for run in runs], labels) for name in TABLES})
    names = _names(tables["values"], len(runs) > 1)
    keys = ["run", "stack", "workload", "metric", "pair", "node"]
    named = {
        name: _ordered(table.join(names, on=keys, how="left", maintain_order="left"), stacks, conditions, labels)
        for name, table in tables.items()
    }
    listed = list(dict.fromkeys(name for run in runs for name in workloads_of(run)))
    return View(
        tuple(reported),
        named["cells"],
        named["values"],
        named["samples"],
        named["costs"],
        stacks,
        conditions,
        listed,
    )


TABLES = ("cells", "values", "samples", "costs")


def workloads_of(run: RunAnalysis) -> list[str]:
    """The workloads of a run, as its plan lists them; how long a stack took to come up stands last."""
    named = [name for name in run.record.listed("workloads") if isinstance(name, str)]
    wanted = dict.fromkeys([*run.record.workloads, *named])
    there = dict.fromkeys(trial.cell["workload"] for trial in executed(run.record))
    up = [name for name in dict.fromkeys(run.cells["workload"].to_list()) if name not in there]
    return [*(name for name in wanted if name in there), *(name for name in there if name not in wanted), *up]


def _of_what_was_counted(tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The tables without what nodes count beside a workload, where that is 0 in all trials of it."""
    counted = tables["values"].filter(pl.col("metric").is_in(list(COUNTED)))
    never = counted.group_by("workload", "metric").agg(pl.col("value").max()).filter(pl.col("value") == 0)
    return {name: table.join(never, on=["workload", "metric"], how="anti") for name, table in tables.items()}


def _joined(tables: Sequence[pl.DataFrame], labels: Sequence[str]) -> pl.DataFrame:
    marked = [table.with_columns(run=pl.lit(label)) for table, label in zip(tables, labels, strict=True)]
    return pl.concat(marked)


def _names(values: pl.DataFrame, several: bool) -> pl.DataFrame:
    """A name for each run, stack, workload, metric, pair and node, which no other row beside it has."""
    places = values.select("run", "stack", "workload", "metric", "pair", "node").unique(maintain_order=True)
    counted = places.with_columns(
        pairs=pl.col("pair").n_unique().over("workload", "metric"),
        nodes=pl.col("node").n_unique().over("workload", "metric", "pair"),
    )
    names = [_name(**row, several=several) for row in counted.iter_rows(named=True)]
    return places.with_columns(name=pl.Series(names, dtype=pl.String))


def _name(
    run: str, stack: str, workload: str, metric: str, pair: str, node: str, pairs: int, nodes: int, several: bool
) -> str:
    words = [stack]
    both = question_words.ends(pair)
    if nodes > 1 and metric.startswith(MEASURED_BY_RECEIVER) and node and node in both:
        words.append(f"{both[0] if node == both[1] else both[1]}→{node}")
    else:
        words += [pair] if pairs > 1 else []
        words += [f"at {node}"] if nodes > 1 else []
    return ", ".join(words) + (f" · {run}" if several else "")


def _ordered(
    table: pl.DataFrame, stacks: Sequence[str], conditions: Sequence[str], labels: Sequence[str]
) -> pl.DataFrame:
    """Rows by condition, stack and run; else they stay as they are. Those of one run are in that order already."""
    if len(labels) == 1:
        return table
    places = {"condition": conditions, "stack": stacks, "run": labels}
    ranks = [
        pl.col(name).replace_strict(list(values), list(range(len(values))), return_dtype=pl.Int64)
        for name, values in places.items()
    ]
    order_of = table.select(*ranks).select(pl.arg_sort_by(*places, maintain_order=True)).to_series()
    return table[order_of]
