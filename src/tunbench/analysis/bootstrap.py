"""Bootstrap intervals of smooth statistics, such as a mean or a coefficient of variation.

A median is not smooth: its bootstrap distribution sits on few values. It has its interval by order statistics instead
(see `statistics`).
"""

import math
import statistics
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy

from tunbench.analysis.statistics import CONFIDENCE

RESAMPLES = 9999
"""Bootstrap samples. Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 19, want at least 1,000."""

OF_A_TABLE = 1999
"""Bootstrap samples of a coefficient of variation: a report has hundreds of them."""

AT_ONCE = 4_000_000
"""Values that are resampled at once: 32 MB, however many values a statistic has."""

SEED = 1
"""Of the resampling: equal values give equal intervals."""

Statistic = Callable[..., Any]
"""Takes an array and the keyword `axis`, along which it computes, as numpy's functions do."""


class BootstrapInterval(NamedTuple):
    """A statistic of n values and its BCa interval, in the statistic's unit; None with a `reason` where there is none.

    `coverage` is the probability that is asked for. It is approximate: that of few values falls short of it.
    """

    n: int
    value: float | None
    low: float | None
    high: float | None
    coverage: float
    reason: str


def bca(
    values: Sequence[float],
    statistic: Statistic,
    confidence: float = CONFIDENCE,
    *others: Sequence[float],
    resamples: int = RESAMPLES,
) -> BootstrapInterval:
    """A smooth statistic with its bootstrap interval, corrected for bias and acceleration (BCa).

    The bounds are the quantiles of `resamples` bootstrap values at Φ(z₀ + (z₀ + z) ÷ (1 − a (z₀ + z))), where z is the
    normal quantile of either end, z₀ that of the share of bootstrap values below the statistic, and a the jackknife's
    skewness ÷ 6. Source: Efron, Better Bootstrap Confidence Intervals, Journal of the American
    Statistical Association 82 (1987), sections 2 to 6; computed by scipy.stats.bootstrap. `others` are further values
    of the same items, resampled together with `values` and given to the statistic behind them.

    There is no interval of fewer than two values, of values that are all equal (they say nothing of how others would
    differ), nor where the resampled statistics leave z₀ or a undefined.
    """
    n, together = len(values), [np.asarray(each, dtype=float) for each in (values, *others)]
    if not n:
        return BootstrapInterval(0, None, None, None, confidence, "there are no values")
    value = _finite(statistic(*together, axis=0))
    if value is None:
        return BootstrapInterval(n, None, None, None, confidence, "the statistic is not defined for these values")
    if n < 2:
        return BootstrapInterval(n, value, None, None, confidence, "one value alone has no interval")
    if all(len(set(each.tolist())) == 1 for each in together):
        return BootstrapInterval(n, value, None, None, confidence, "all values are equal")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # Of degenerate distributions; they end in `reason`.
        found: Any = scipy.stats.bootstrap(
            together,
            statistic,
            method="BCa",
            batch=max(1, AT_ONCE // n),
            paired=len(together) > 1,
            confidence_level=confidence,
            n_resamples=resamples,
            rng=np.random.default_rng(SEED),
            vectorized=True,
        ).confidence_interval
    low, high = _finite(found.low), _finite(found.high)
    if low is None or high is None:
        return BootstrapInterval(n, value, None, None, confidence, "its bootstrap distribution is degenerate")
    return BootstrapInterval(n, value, low, high, confidence, "")


def variation(values: Sequence[float], confidence: float = CONFIDENCE) -> BootstrapInterval:
    """The coefficient of variation, a ratio, with its BCa interval: standard deviation (n − 1) ÷ absolute mean.

    Source: Pearson, Mathematical Contributions to the Theory of Evolution, III, Philosophical Transactions of the Royal
    Society A 187 (1896), where it is in percent. It means something for values that have a true zero.
    Values that are all equal have 0 and no interval; where the mean is 0 there is none.
    """
    if len(values) < 2:
        return BootstrapInterval(len(values), None, None, None, confidence, "it needs at least two values")
    if spread(values) is None:
        return BootstrapInterval(len(values), None, None, None, confidence, "the mean is 0")
    return bca(values, _variation, confidence, resamples=OF_A_TABLE)


def spread(values: Sequence[float]) -> float | None:
    """The coefficient of variation alone, as in `variation`; None of fewer than two values, or where the mean is 0."""
    if len(values) < 2 or not (mean := statistics.fmean(values)):
        return None
    return statistics.stdev(values) / abs(mean)


def _variation(values: Any, axis: int = -1) -> Any:
    return np.std(values, axis=axis, ddof=1) / np.abs(np.mean(values, axis=axis))


def _finite(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None
