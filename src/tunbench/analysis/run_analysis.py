"""All that a report is made of, computed once."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from tunbench.analysis import order, stopping
from tunbench.analysis.audit import conditions as audited_conditions
from tunbench.analysis.audit.warnings import WarningGroup, warnings
from tunbench.analysis.cells import CENTRAL, METRIC, cells, per_trial
from tunbench.analysis.costs import costs
from tunbench.analysis.ratios import RATIO, is_baseline, ratios, underlay
from tunbench.analysis.samples import CELL, good_samples
from tunbench.analysis.verdicts import FailureGroup, executed, failing, summaries
from tunbench.journal.record import Record
from tunbench.plan.until import Until
from tunbench.runner.declare import axes


@dataclass(frozen=True)
class RunAnalysis:
    """A run and all that follows from it: what a page, the terminal, an export and the commands read.

    `samples` has the columns of a sample and `condition`; `values` those of `cells.per_trial` and `condition`.
    `conditions` are the names of conditions by what `order.condition_of` gives. The rows of all tables stand in the
    order of `conditions` and `stacks`. What is not always needed is computed when it is first asked for.
    """

    record: Record
    stacks: list[str]
    conditions: dict[tuple[Any, ...], str]
    samples: pl.DataFrame
    values: pl.DataFrame

    @cached_property
    def cells(self) -> pl.DataFrame:
        """One row a cell, metric and statistic: CELL, METRIC, ESTIMATE, `condition`, and the ratio to `none`.

        The ratio is `ratio_n`, `ratio_median`, `ratio_low`, … as in `shares.Ratio`: null where there is none.
        """
        compared = ratios(self._comparable_values).rename({name: f"ratio_{name}" for name in RATIO})
        joined = cells(self.values).join(compared, on=[*CELL, *METRIC], how="left", maintain_order="left")
        return _in_order(joined, self.stacks, self.conditions)

    @cached_property
    def not_comparable(self) -> set[str]:
        """The names of the conditions in which stacks were not judged alike, so that no ratio is given."""
        return {self.conditions[values] for values in audited_conditions.not_comparable(self.record)}

    @cached_property
    def _comparable_values(self) -> pl.DataFrame:
        return self.values.filter(~pl.col("condition").is_in(list(self.not_comparable)))

    @cached_property
    def costs(self) -> pl.DataFrame:
        """The rows of `cells` that are costs, with the estimate of the excess over `none` as `excess_median`, …."""
        return costs(self.cells, self.values)

    @cached_property
    def warnings(self) -> list[WarningGroup]:
        """The warnings of the run, and those that follow from what was measured."""
        found = [*audited_conditions.warned(self.record), *self.record.warnings]
        return warnings(found, self.cells, self.values)

    @cached_property
    def failing(self) -> list[FailureGroup]:
        """The trials that failed or were unsupported, put together by their reason."""
        return failing(self.record, self.conditions)

    @cached_property
    def verdicts(self) -> dict[tuple[str, str, str | None], str]:
        """The verdict in words of each stack, condition and workload; with None as workload, of all of them."""
        return summaries(executed(self.record), self.conditions)

    @cached_property
    def until(self) -> Until | None:
        """What the run's plan says about stopping, if anything."""
        return stopping.until_of(self.record)

    @cached_property
    def widths(self) -> pl.DataFrame | None:
        """How wide the interval of each cell is that counts for stopping; None where the plan says nothing about it."""
        return stopping.widths(self.values, self.until) if self.until else None

    @cached_property
    def central(self) -> dict[tuple[str, str, str, str], dict[str, Any]]:
        """The first row of `cells` with a value or median, by stack, condition, workload and metric."""
        found: dict[tuple[str, str, str, str], dict[str, Any]] = {}
        for row in self.cells.filter(pl.col("statistic").is_in(CENTRAL)).iter_rows(named=True):
            found.setdefault((row["stack"], row["condition"], row["workload"], row["metric"]), row)
        return found

    @cached_property
    def conditions_of_profile(self) -> dict[str, list[str]]:
        """The names of the conditions that have a profile, by its name."""
        found: dict[str, list[str]] = {}
        for (profile, *_), condition in self.conditions.items():
            found.setdefault(profile, []).append(condition)
        return found

    @cached_property
    def bare(self) -> dict[str, str]:
        """The first stack without a tunnel on each kind of underlay."""
        return {underlay(one): one for one in reversed(self.stacks) if is_baseline(one)}

    @cached_property
    def measured_bare(self) -> dict[tuple[str, str, str, str], list[float]]:
        """The values and medians of the trials of `bare`, by stack, condition, workload and metric."""
        keys = ["stack", "condition", "workload", "metric"]
        kept = self.values.filter(pl.col("stack").is_in(list(self.bare.values())) & pl.col("statistic").is_in(CENTRAL))
        return {tuple(key): values for *key, values in kept.group_by(keys).agg("value").iter_rows()}


def analyse(record: Record) -> RunAnalysis:
    """Analyses a run: once in a command, whatever shows it."""
    stacks, conditions = order.stacks(record), order.conditions(record)
    samples = good_samples(record.trials)
    placed = [_in_order(table, stacks, conditions) for table in (samples, per_trial(samples))]
    return RunAnalysis(record, stacks, conditions, *placed)


def workloads(analysis: RunAnalysis, metric: str) -> list[str]:
    """The workloads that measured a metric, sorted."""
    return sorted(analysis.cells.filter(pl.col("metric") == metric)["workload"].unique().to_list())


def of_several(cells: pl.DataFrame, metrics: Collection[str]) -> list[str]:
    """The workloads of which a metric was measured between several pairs, or at several nodes, sorted."""
    places = cells.filter(pl.col("metric").is_in(list(metrics))).group_by("workload", "metric")
    counted = places.agg(pl.struct("pair", "node").n_unique().alias("places")).filter(pl.col("places") > 1)
    return sorted(counted["workload"].unique().to_list())


def verdict_of(analysis: RunAnalysis, stack: str, condition: str, workload: str | None = None) -> str:
    """The verdict of a stack's trials in a condition, in words; of one workload, or of all."""
    return analysis.verdicts.get((stack, condition, workload), "not run")


def _in_order(table: pl.DataFrame, stacks: list[str], conditions: dict[tuple[Any, ...], str]) -> pl.DataFrame:
    """The table with its column `condition`, in the order of conditions and stacks; else its rows stay as they are."""
    columns = {name: [values[index] for values in conditions] for index, name in enumerate(axes.CONDITION)}
    places = pl.DataFrame(
        {**columns, "condition": list(conditions.values()), "place_rank": range(len(conditions))},
        schema={**dict.fromkeys([*axes.CONDITION, "condition"], pl.String), "place_rank": pl.Int64},
    )
    ranks = pl.DataFrame(
        {"stack": stacks, "stack_rank": range(len(stacks))}, schema={"stack": pl.String, "stack_rank": pl.Int64}
    )
    joined = table.join(places, on=list(axes.CONDITION), how="left", maintain_order="left")
    joined = joined.join(ranks, on="stack", how="left", maintain_order="left")
    # Only the ranks are sorted, and the rows taken in their order: there may be a million.
    order = joined.select(pl.arg_sort_by("place_rank", "stack_rank", maintain_order=True)).to_series()
    return joined.drop("place_rank", "stack_rank")[order]
