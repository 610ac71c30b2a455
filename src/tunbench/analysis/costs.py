"""What a stack costs the machine for each byte and packet, and how much of that is its own: the excess over `none`."""

import polars as pl

from tunbench.analysis.cells import ESTIMATE, METRIC, estimates
from tunbench.analysis.ratios import beside_none
from tunbench.analysis.samples import CELL

COSTS = ("cost", "cost-packet")
"""The metrics of cost: busy time of the whole machine a byte and a packet that the stack carried."""


def excesses(values: pl.DataFrame) -> pl.DataFrame:
    """`per_trial`'s costs less those of `none`: same seed, same kind of underlay, same everything else.

    The columns are those of `per_trial`. What programs and the kernel do under every stack alike cancels.
    """
    both = beside_none(values.filter(pl.col("metric").is_in(COSTS)))
    return both.with_columns(value=pl.col("value") - pl.col("baseline")).select(values.columns).sort(values.columns)


def costs(cells: pl.DataFrame, values: pl.DataFrame) -> pl.DataFrame:
    """The rows of `cells` that are costs, with the estimate of their excess as `excess_n`, `excess_median`, ….

    It is the median of differences within a seed, not the difference of medians; null where there is no `none`.
    """
    found = estimates(excesses(values), (*CELL, *METRIC)).rename({name: f"excess_{name}" for name in ESTIMATE})
    kept = cells.filter(pl.col("metric").is_in(COSTS))
    return kept.join(found, on=[*CELL, *METRIC], how="left", maintain_order="left")
