"""Whether values rise or fall from repeat to repeat: Kendall's test."""

from functools import cache

import numpy as np
import scipy
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

MOST_EXACT = 60
"""Values up to which the distribution of Kendall's S is computed exactly; beyond, it is normal to three digits."""


def rises(series: Numbers) -> Numbers:
    """Kendall's S of each row: pairs of values of which the later is greater, less those of which it is smaller.

    Source: Kendall, A New Measure of Rank Correlation, Biometrika 30 (1938).
    """
    n = series.shape[1]
    return sum(
        (np.sign(series[:, index + 1 :] - series[:, index : index + 1]).sum(axis=1) for index in range(n - 1)),
        start=np.zeros(len(series)),
    )


def p_values(rising: Numbers, n: int) -> Numbers:
    """The two-sided p of each S of n values in random order, without ties; ties make it larger than it had to be.

    Exact up to MOST_EXACT values; beyond, by the normal approximation with the variance n (n − 1) (2n + 5) ÷ 18.
    Source: Kendall, Rank Correlation Methods (1948), chapter 5; Mann, Nonparametric Tests Against Trend,
    Econometrica 13 (1945).
    """
    size = np.abs(rising)
    if n > MOST_EXACT:
        deviation = np.sqrt(n * (n - 1) * (2 * n + 5) / 18)
        return np.asarray(np.minimum(1.0, 2 * scipy.special.ndtr(-(size - 1) / deviation)))
    tails = _tails(n)
    pairs = n * (n - 1) // 2
    # S is the number of pairs less twice that of inversions; by symmetry the tail is that of as many inversions.
    return np.asarray(np.minimum(1.0, 2 * tails[((pairs - size) // 2).astype(int)]))


@cache
def _tails(n: int) -> Numbers:
    """P(at most k inversions) of n values in random order, for each k: value i adds 0 to i − 1 of them alike."""
    chances = np.ones(1)
    for number in range(2, n + 1):
        chances = np.convolve(chances, np.full(number, 1 / number))
    return np.asarray(np.cumsum(chances))
