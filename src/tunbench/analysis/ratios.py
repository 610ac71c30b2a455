"""Ratios to the bare underlay: each cell against that of `none` over the same kind of underlay."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import polars as pl

from tunbench.analysis.cells import ESTIMATE, METRIC
from tunbench.analysis.samples import CELL, TRIAL
from tunbench.analysis.shares import Ratio, Trials, ratio
from tunbench.plan.axes.stack import underlay_below
from tunbench.runner import registry
from tunbench.runner.declare import spelling
from tunbench.runner.declare.tunnel import BARE
from tunbench.runner.network.underlay import UNDERLAY_KINDS

RATIO: dict[str, type[pl.DataType]] = {**ESTIMATE, "paired": pl.Boolean}
"""The columns of a ratio: see `shares.Ratio`."""

PLACE = (*CELL, *METRIC)

STACK = PLACE.index("stack")


@registry.remembered
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
    """One row a cell, metric and statistic of `per_trial`'s values that has a ratio to `none`: same everything else.

    The columns are CELL, METRIC and RATIO; ratios have no unit, the column `unit` names that of the metric.
    """
    found = _trials(values)
    bare = {_beside(key): trials for key, trials in reversed(list(found.items())) if is_baseline(key[STACK])}
    rows = list(_ratios(found, bare))
    schema: dict[str, type[pl.DataType]] = {**dict.fromkeys(PLACE, pl.String), **RATIO}
    return pl.DataFrame(rows, schema=schema, orient="row").sort(PLACE)


def _ratios(found: Mapping[tuple[str, ...], Trials], bare: Mapping[Any, Trials]) -> Iterator[tuple[Any, ...]]:
    for key, trials in found.items():
        baseline = bare.get(_beside(key))
        share = _share(trials, baseline) if underlay(key[STACK]) and baseline else None
        if share:
            yield (*key, *share)


def _share(trials: Trials, baseline: Trials) -> Ratio | None:
    """The ratio of a cell to that of `none`, which is itself 1 and nothing else."""
    own = ratio(trials, baseline)
    return own._replace(median=1.0, low=1.0, high=1.0) if own and trials is baseline else own


def _trials(values: pl.DataFrame) -> Mapping[tuple[str, ...], Trials]:
    """The values of each cell, metric and statistic, by repeat and seed."""
    found: dict[tuple[str, ...], dict[tuple[int, int], float]] = {}
    for *key, repeat, seed, value in values.select(*PLACE, "repeat", "seed", "value").iter_rows():
        found.setdefault(tuple(key), {})[repeat, seed] = value
    return found


def _beside(key: tuple[str, ...]) -> tuple[str, ...]:
    """What a cell has in common with that of `none`: all but the stack, of which it is the kind of underlay."""
    return (*key[:STACK], underlay(key[STACK]), *key[STACK + 1 :])


def _of_stacks(function: object, kind: type[pl.DataType]) -> pl.Expr:
    return pl.col("stack").map_elements(function, return_dtype=kind)  # type: ignore[arg-type]
