"""Ratios to the bare underlay: each trial against the trial of `none` that had the same seed."""

from functools import cache

import polars as pl

from tunbench.analysis.cells import METRIC, estimates
from tunbench.analysis.samples import CELL, TRIAL
from tunbench.plan.axes.stack import underlay_below
from tunbench.runner.declare import spelling
from tunbench.runner.declare.tunnel import BARE
from tunbench.runner.network.underlay import UNDERLAY_KINDS


@cache
def underlay(stack: str) -> str:
    """The kind of underlay of a stack, `ip`, `ip6` or `ethernet`; empty where this version does not know the stack."""
    try:
        kind = underlay_below(spelling.stack(stack)[0])
    except ValueError:
        return ""
    return kind if kind in UNDERLAY_KINDS else ""


@cache
def is_baseline(stack: str) -> bool:
    """Whether the stack is the bare underlay, of whichever kind."""
    try:
        return [layer.name for layer in spelling.stack(stack)] == [BARE]
    except ValueError:
        return False


def paired(values: pl.DataFrame) -> pl.DataFrame:
    """`per_trial`'s values divided by those of `none`: same seed, same kind of underlay, same everything else.

    The columns are those of `per_trial`. A trial without its counterpart has no row. Where `none` is 0 under any seed,
    as losses often are, no trial of the cell has one: to leave out such seeds alone would favour the others.
    """
    joined = beside_none(values).filter((pl.col("baseline") != 0).all().over(*CELL, *METRIC))
    return joined.with_columns(value=pl.col("value") / pl.col("baseline")).select(values.columns).sort(values.columns)


def beside_none(values: pl.DataFrame) -> pl.DataFrame:
    """`per_trial`'s values with the column `baseline`: that of `none` under the same seed, over the same underlay.

    A trial without its counterpart has no row.
    """
    known = values.with_columns(underlay=_of_stacks(underlay, pl.String), bare=_of_stacks(is_baseline, pl.Boolean))
    known = known.filter(pl.col("underlay") != "")
    same = [name for name in (*TRIAL, *METRIC, "underlay") if name != "stack"]
    bare = known.filter("bare").select(*same, baseline="value").unique(same)
    return known.join(bare, on=same, how="inner")


def ratios(values: pl.DataFrame) -> pl.DataFrame:
    """One row a cell, metric and statistic: the estimate of the ratio to `none` over `paired`'s values.

    It is the median of ratios, not the ratio of medians, so that what a seed does to both cancels. The columns are
    CELL, METRIC and `cells.ESTIMATE`; ratios have no unit, the column `unit` names that of the metric.
    """
    return estimates(paired(values), (*CELL, *METRIC))


def _of_stacks(function: object, kind: type[pl.DataType]) -> pl.Expr:
    return pl.col("stack").map_elements(function, return_dtype=kind)  # type: ignore[arg-type]
