"""From samples to one value a trial, and from these to one row a cell and metric."""

from collections.abc import Sequence

import polars as pl

from tunbench.analysis.samples import CELL, TRIAL
from tunbench.analysis.statistics import CONFIDENCE, Estimate, estimate

METRIC = ("metric", "statistic", "unit")
"""What a value is: the metric, which statistic of the trial it is, and its SI unit."""

WHOLE = "value"
"""The statistic of a metric that the workload itself gives for the whole trial."""

CENTRAL = (WHOLE, "median")
"""The statistics that are meant where a metric is named alone."""

QUANTILES = {"median": 0.5, "p95": 0.95, "p99": 0.99}
"""The statistics of a metric that a trial has only as a series: quantiles of that trial's raw values."""

ESTIMATE: dict[str, type[pl.DataType]] = {
    "n": pl.Int64,
    "median": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "coverage": pl.Float64,
    "kind": pl.String,
}
"""The columns of an estimate: see `statistics.Estimate`."""


def per_trial(samples: pl.DataFrame) -> pl.DataFrame:
    """One row a trial, metric and statistic, with the columns TRIAL, METRIC and `value`.

    A metric with a value for the whole trial gives that value. One with a series alone gives the series' median and
    percentiles, interpolated linearly between raw values (Hyndman and Fan, Sample Quantiles in Statistical Packages,
    The American Statistician 50 (1996), definition 7).
    """
    keys = [*TRIAL, "metric", "unit"]
    # Texts are compared as numbers: a million rows of twelve texts take seconds to group.
    coded = samples.select(*(_code(samples, key) for key in keys), "at", "value", row=pl.int_range(pl.len()))
    row = pl.col("row").first()
    whole = coded.filter(pl.col("at").is_null()).group_by(keys).agg(pl.col("value").median(), row)
    series = coded.filter(pl.col("at").is_not_null()).join(whole, on=keys, how="anti")
    quantiles = [pl.col("value").quantile(at, "linear").alias(name) for name, at in QUANTILES.items()]
    of_series = series.group_by(keys).agg(*quantiles, row).drop(keys).unpivot(index="row", variable_name="statistic")
    columns = ["row", "statistic", "value"]
    rows = pl.concat([whole.with_columns(statistic=pl.lit(WHOLE)).select(columns), of_series.select(columns)])
    named = samples.select(keys)[rows["row"]].hstack(rows).select(*TRIAL, *METRIC, "value")
    return named.drop_nulls("value").sort(named.columns)


def _code(samples: pl.DataFrame, column: str) -> pl.Expr:
    """The column; one of texts as a number for each text."""
    texts = samples.schema[column] == pl.String
    return pl.col(column).cast(pl.Categorical).to_physical() if texts else pl.col(column)


def cells(values: pl.DataFrame) -> pl.DataFrame:
    """One row a cell, metric and statistic: the estimate over the repeats of `per_trial`'s values.

    The columns are CELL, METRIC and ESTIMATE. Percentiles of trials are not averaged; their median is taken.
    """
    return estimates(values, (*CELL, *METRIC))


def estimates(values: pl.DataFrame, keys: Sequence[str], confidence: float = CONFIDENCE) -> pl.DataFrame:
    """One row a group of `keys`, sorted by them: the columns `keys` and ESTIMATE, over the column `value`."""
    groups = values.group_by(keys).agg(pl.col("value")).sort(keys)
    found = [estimate(group, confidence) for group in groups["value"].to_list()]
    columns = {name: [getattr(one, name) for one in found] for name in Estimate._fields}
    return pl.concat([groups.drop("value"), pl.DataFrame(columns, schema=ESTIMATE)], how="horizontal")
