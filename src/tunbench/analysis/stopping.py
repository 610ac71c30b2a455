"""Whether cells are narrow enough to stop: a function of samples alone, so that whoever asks gets the same answer."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from tunbench.analysis.cells import CENTRAL, METRIC, estimates, per_trial
from tunbench.analysis.samples import CELL
from tunbench.analysis.statistics import RANGE
from tunbench.journal.record import Record
from tunbench.plan.until import Until
from tunbench.runner.declare.metrics import BRING_UP

CELL_OF_GROUP = ("workload", "pair", "node", "metric", "statistic", "width")
"""What names a cell among those that share their shards, and its width."""


class Narrowness(NamedTuple):
    """Whether all cells are narrow enough, and the widest of them as CELL_OF_GROUP; None where nothing was measured."""

    enough: bool
    widest: dict[str, Any] | None


def narrow_enough(samples: pl.DataFrame, until: Until) -> Narrowness:
    """Whether the interval of every cell in these samples is at most as wide as `until` asks.

    Where no trial was well there is nothing to be narrow: the answer is no, without a widest cell.
    """
    found = widths(per_trial(samples.filter(pl.col("metric").is_in(until.metrics))), until)
    if found.is_empty():
        return Narrowness(False, None)
    widest = found.sort("width", *CELL, *METRIC, descending=[True] + [False] * (len(CELL) + len(METRIC)))
    width = widest["width"][0]
    return Narrowness(width is not None and width <= until.width, widest.select(CELL_OF_GROUP).row(0, named=True))


def widths(values: pl.DataFrame, until: Until) -> pl.DataFrame:
    """One row a cell, metric and statistic that counts: CELL, METRIC, ESTIMATE and `width`.

    `values` are those of `per_trial`. The width is (high − low) ÷ |median| of the interval by order statistics; null
    where there are too few values for one, and where the median is 0 and the interval is not. Percentiles of a trial do
    not count: they are wider by nature, and need longer trials, not more.
    """
    counting = values.filter(
        pl.col("metric").is_in(until.metrics) & pl.col("statistic").is_in(CENTRAL) & (pl.col("workload") != BRING_UP)
    )
    whole = estimates(counting, (*CELL, *METRIC), until.confidence)
    return whole.with_columns(width=_width()).with_columns(
        enough=pl.col("width").fill_null(float("inf")) <= until.width
    )


def until_of(record: Record) -> Until | None:
    """What the plan of a run says about stopping; None where it says nothing."""
    asked = record.fact("plan", "until")
    if not isinstance(asked, Mapping):
        return None
    return Until(asked["width"], asked["confidence"], asked["max"], tuple(asked["metrics"]))


def _width() -> pl.Expr:
    span = pl.col("high") - pl.col("low")
    relative = pl.when(span == 0).then(0.0).when(pl.col("median") != 0).then(span / pl.col("median").abs())
    return pl.when(pl.col("kind") != RANGE).then(relative)
