"""How far a thing of chance may go in a test.

In virtual time a draw repeats with its seed, and it is another one with each change of the runner. An interval of 99 %
would thus fail one change in a hundred, for good, and without any fault: the confidence here is that of tests which are
asked some hundred times a year.
"""

import math
import statistics
from collections.abc import Sequence

from scipy import stats

CONFIDENCE = 0.9999


def drawn(of: int, probability: float) -> tuple[float, float]:
    """The least and the most that a binomial count is: the central interval of `CONFIDENCE`."""
    low, high = stats.binom.interval(CONFIDENCE, of, probability)
    return float(low), float(high)


def mean_moves(values: Sequence[float]) -> float:
    """How far the mean of values lies from what they are drawn around, at most, by the central limit theorem."""
    return float(stats.norm.ppf((1 + CONFIDENCE) / 2)) * statistics.stdev(values) / math.sqrt(len(values))
