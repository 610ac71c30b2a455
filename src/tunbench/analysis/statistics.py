"""Medians with distribution-free intervals. No assumption is made on how values are distributed."""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

import scipy

CONFIDENCE = 0.95
"""The least probability with which an interval holds the population's median."""

FEWEST_FOR_INTERVAL = 6
"""Values from which on the range of all of them is a 95 % interval: 1 − 2 × 0.5⁶ = 96.9 %, and 93.75 % of five."""

RANGE = "range"
"""What surrounds a median where the values are too few for an interval of the confidence that was asked for."""


def interval(confidence: float) -> str:
    """What an interval of a confidence is called, such as `95 % interval`."""
    return f"{100 * confidence:.4g} % interval"


INTERVAL = interval(CONFIDENCE)


class Estimate(NamedTuple):
    """A median and what surrounds it, in the values' unit.

    `coverage` is a probability, `kind` what `interval` calls one of the confidence that was asked for, or RANGE.
    """

    n: int
    median: float
    low: float
    high: float
    coverage: float
    kind: str


def coverage(n: int, rank: int) -> float:
    """Probability that the order statistics `rank` and `n + 1 − rank` of n values enclose the median.

    1 − 2 P(B ≤ rank − 1), where B is binomial with n draws and p = ½; exact for a continuous distribution, and at
    least this for any other. Source: David and Nagaraja, Order Statistics, 3rd edition (2003), section 7.1.
    """
    return max(0.0, 1 - 2 * float(scipy.special.bdtr(rank - 1, n, 0.5)))


def median_rank(n: int, confidence: float = CONFIDENCE) -> int:
    """The rank r, counted from 1, of the narrowest interval [r, n + 1 − r] of n values; 0 where none is wide enough.

    Source: Hahn and Meeker, Statistical Intervals (1991), section 5.2.
    """
    enough = (rank for rank in range(n // 2, 0, -1) if coverage(n, rank) >= confidence)
    return next(enough, 0)


def estimate(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """The median of values with its interval by order statistics, or their range where they are too few for one.

    Raises ValueError where there is no value.
    """
    if not values:
        raise ValueError("there is no median of nothing")
    ordered, n = sorted(values), len(values)
    rank = median_rank(n, confidence)
    low, high = ordered[max(rank, 1) - 1], ordered[n - max(rank, 1)]
    kind = interval(confidence) if rank else RANGE
    return Estimate(n, statistics.median(ordered), low, high, coverage(n, max(rank, 1)), kind)


def share(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """The share of ones among zeros and ones, with its interval; it stands where the median of other values does.

    The interval is exact: it holds the true share at least as often as it says. Source: Clopper and Pearson, The Use of
    Confidence or Fiducial Limits Illustrated in the Case of the Binomial, Biometrika 26 (1934). Raises ValueError where
    there is no value.
    """
    if not values:
        raise ValueError("there is no share of nothing")
    found = scipy.stats.binomtest(round(sum(values)), len(values)).proportion_ci(confidence, "exact")
    return Estimate(
        len(values), sum(values) / len(values), float(found.low), float(found.high), confidence, interval(confidence)
    )
