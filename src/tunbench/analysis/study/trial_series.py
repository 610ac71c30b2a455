"""What a claim or a table asks of a trial besides what every report shows of it: more of its series, spread and sum."""

import math
from collections.abc import Sequence

import polars as pl

from tunbench.analysis.samples import TRIAL
from tunbench.runner.declare import axes

STATISTICS = {"mean": pl.col("value").mean(), "max": pl.col("value").max(), "sd": pl.col("value").std()}
"""What is asked of a series; the standard deviation is that of n − 1, which one value has none of."""


def of_series(samples: pl.DataFrame, key: Sequence[object], metric: str, statistic: str) -> pl.DataFrame:
    """A statistic of each trial's series of a metric in the cell of this key, with the columns that `per_trial` has."""
    of_cell = [pl.col(axis) == value for axis, value in zip(axes.NAMES, key, strict=True)]
    series = samples.filter(*of_cell, pl.col("metric") == metric, pl.col("at").is_not_null())
    found = series.group_by(TRIAL).agg(STATISTICS[statistic], statistic=pl.lit(statistic))
    return found.drop_nulls("value").sort(TRIAL)


def spread(rows: pl.DataFrame) -> dict[tuple[int, int], float]:
    """The largest value of each trial divided by its smallest, by repeat and seed; of trials that have several."""
    found = rows.group_by("repeat", "seed").agg(
        most=pl.col("value").max(), least=pl.col("value").min(), places=pl.len()
    )
    several = found.filter(pl.col("places") > 1).sort("repeat", "seed")
    return {(repeat, seed): _ratio(most, least) for repeat, seed, most, least, _ in several.iter_rows()}


def added_up(rows: pl.DataFrame) -> dict[tuple[int, int], float]:
    """The sum of each trial's values, by repeat and seed."""
    found = rows.group_by("repeat", "seed").agg(pl.col("value").sum()).sort("repeat", "seed")
    return {(repeat, seed): value for repeat, seed, value in found.iter_rows()}


def _ratio(most: float, least: float) -> float:
    """All of them nothing is no spread; something beside nothing is an infinite one."""
    if least:
        return most / least
    return math.inf if most else 1.0
