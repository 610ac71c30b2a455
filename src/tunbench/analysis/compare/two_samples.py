"""Two samples compared without any assumption on how their values are distributed: test, shift, effect size."""

import math
import statistics
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import scipy

from tunbench.analysis.compare.pairwise_differences import differences
from tunbench.analysis.statistics import CONFIDENCE

FEWEST_FOR_TEST = 8
"""Values on either side from which on a difference is tested."""

LARGEST_EXACT = 49
"""Values on either side up to which distributions are exact where there are no ties; the limit of R's wilcox.test."""

EXACT, ASYMPTOTIC, CONSTANT, UNDECIDED = "exact", "asymptotic", "all values are equal", "undecided"

MAGNITUDES = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"), (math.inf, "large"))
"""Below which |δ| an effect has which word.

Source: Romano, Kromrey, Coraggio and Skowronek, Appropriate Statistics for Ordinal Level Data, Annual Meeting of the
Florida Association of Institutional Research (2006): they belong to Cohen's d of 0.2, 0.5 and 0.8.
"""


class RankSumTest(NamedTuple):
    """Mann and Whitney's U, counted for `b`; its two-sided p, None where it is UNDECIDED; and how p was computed."""

    u: float
    p: float | None
    method: str


class Shift(NamedTuple):
    """How much larger `b` is than `a`, with its interval; a difference in the values' unit, or a share of `a`.

    `coverage` is the probability that the interval holds the true shift.
    """

    value: float
    low: float
    high: float
    coverage: float


class EffectSize(NamedTuple):
    """Cliff's δ, between −1 and 1, and its word."""

    delta: float
    word: str


def mann_whitney(a: Sequence[float], b: Sequence[float], fewest: int = FEWEST_FOR_TEST) -> RankSumTest:
    """Tests whether values of b tend to be larger or smaller than of a; UNDECIDED below `fewest` of a side.

    U is the number of pairs in which b is larger, and half of those that tie. p is exact where both sides have at most
    LARGEST_EXACT values, with ties or without. Else it is that of the normal distribution, whose variance is corrected
    for ties, with a correction for continuity. Source: Mann and Whitney, On a Test of Whether one of Two Random
    Variables is Stochastically Larger than the Other, Annals of Mathematical Statistics 18 (1947); ties: Hollander and
    Wolfe, Nonparametric Statistical Methods, 2nd edition (1999), section 4.1; computed by scipy.stats.mannwhitneyu.
    """
    u = _u(a, b)
    if min(len(a), len(b)) < fewest:
        return RankSumTest(u, None, UNDECIDED)
    if len({*a, *b}) == 1:
        return RankSumTest(u, 1.0, CONSTANT)
    if max(len(a), len(b)) <= LARGEST_EXACT:
        ties = len({*a, *b}) < len(a) + len(b)
        return RankSumTest(u, _exact_p(a, b) if ties else _p_without_ties(u, len(a), len(b)), EXACT)
    return RankSumTest(
        u, float(scipy.stats.mannwhitneyu(b, a, alternative="two-sided", method="asymptotic").pvalue), ASYMPTOTIC
    )


def smallest_p(m: int, n: int) -> float:
    """The smallest two-sided p that m and n values without ties can have: 2 of all their orders are as extreme."""
    return 2 / math.comb(m + n, m)


def _p_without_ties(u: float, m: int, n: int) -> float:
    """The two-sided p of U where nothing ties: twice the share of orders whose U is as far from the middle or farther.

    It is what `_exact_p` counts, from the distribution that all samples of these sizes share.
    """
    below = _cumulated(min(m, n), max(m, n))
    return min(1.0, 2 * below[int(min(u, m * n - u))])


def _exact_p(a: Sequence[float], b: Sequence[float]) -> float:
    """The share of all ways to divide the values between both sides whose ranks are as far from the middle.

    Ties have the mean of their ranks; doubled, all are whole numbers, and the ways of each sum are counted one value
    after the other. Source: Streitberg and Röhmel, Exact Distributions for Permutation and Rank Tests, Statistical
    Software Newsletter 12 (1986), the shift algorithm.
    """
    ranks = np.rint(2 * scipy.stats.rankdata([*a, *b])).astype(int)
    total, size = int(ranks.sum()), len(b)
    ways = np.zeros((size + 1, total + 1))
    ways[0, 0] = 1
    for rank in ranks:
        for taken in range(size, 0, -1):
            ways[taken, rank:] += ways[taken - 1, : total + 1 - rank]
    middle = total * size / len(ranks)
    far = abs(int(ranks[len(a) :].sum()) - middle)
    extreme = np.abs(np.arange(total + 1) - middle) >= far - 1e-9
    return float(ways[size, extreme].sum() / ways[size].sum())


def shift(a: Sequence[float], b: Sequence[float], confidence: float = CONFIDENCE) -> Shift:
    """Hodges and Lehmann's shift from a to b: the median of all differences bⱼ − aᵢ, with its interval.

    The bounds are the differences of rank C and mn + 1 − C in rising order, where C is the largest for which
    P(U ≤ C − 1) ≤ (1 − confidence) ÷ 2 under the null distribution of Mann and Whitney's U; beyond LARGEST_EXACT
    values by the normal approximation. Where not even the extreme differences reach the confidence they are the
    bounds, and `coverage` says what they reach. No distribution is assumed beyond equal shapes; with ties the coverage
    is at least what is said (Noether, Wilcoxon Confidence Intervals for Location Parameters in the Discrete Case,
    Journal of the American Statistical Association 62 (1967)).

    Sources: Hodges and Lehmann, Estimates of Location Based on Rank Tests, Annals of Mathematical Statistics 34 (1963);
    Hollander and Wolfe, Nonparametric Statistical Methods, 2nd edition (1999), sections 4.2 and 4.3. Raises ValueError
    where a side has no values.
    """
    if not a or not b:
        raise ValueError("there is no shift without values on both sides")
    pairs = len(a) * len(b)
    rank, coverage = _rank(len(a), len(b), confidence)
    middle = ((pairs + 1) // 2, pairs // 2 + 1)
    *middles, low, high = differences(a, b, (*middle, rank, pairs + 1 - rank))
    return Shift(statistics.mean(middles), low, high, coverage)


def relative(a: Sequence[float], b: Sequence[float], confidence: float = CONFIDENCE) -> Shift | None:
    """The shift as a share of a, such as −0.02 for 2 % less; None where a value is not positive.

    It is the shift of the logarithms, turned back: the median of all ratios bⱼ ÷ aᵢ, less 1, with the ratios of the
    same ranks as bounds. So it needs no division by an estimate, and the ratio of a to b is the inverse of that of b
    to a. Sources: see `shift`.
    """
    if min(*a, *b) <= 0:
        return None
    logs = shift([math.log(value) for value in a], [math.log(value) for value in b], confidence)
    return Shift(math.expm1(logs.value), math.expm1(logs.low), math.expm1(logs.high), logs.coverage)


def cliff(a: Sequence[float], b: Sequence[float]) -> EffectSize:
    """Cliff's δ: the share of pairs in which b is larger, less that in which it is smaller; 2 U ÷ mn − 1.

    Source: Cliff, Dominance Statistics: Ordinal Analyses to Answer Ordinal Questions, Psychological Bulletin 114
    (1993). The words are those of MAGNITUDES. Raises ValueError where a side has no values.
    """
    if not a or not b:
        raise ValueError("there is no effect without values on both sides")
    delta = (2 * _u(a, b) - len(a) * len(b)) / (len(a) * len(b))
    return EffectSize(delta, next(word for bound, word in MAGNITUDES if abs(delta) < bound))


def _u(a: Sequence[float], b: Sequence[float]) -> float:
    rising = np.sort(np.array(a, dtype=float))
    below, ties = (np.searchsorted(rising, b, side).sum() for side in ("left", "right"))
    return float(below + ties) / 2


def _rank(m: int, n: int, confidence: float) -> tuple[int, float]:
    """The rank C of the lower bound among m × n differences, at least 1, and the coverage of the interval."""
    if confidence >= 1:
        return 1, 1 - smallest_p(m, n)
    tail = (1 - confidence) / 2
    if max(m, n) > LARGEST_EXACT:
        mean, deviation = m * n / 2, math.sqrt(m * n * (m + n + 1) / 12)
        return max(1, math.floor(mean + deviation * float(scipy.special.ndtri(tail)))), confidence
    below = _cumulated(min(m, n), max(m, n))
    # The first U whose share is too large is the largest rank: P(U ≤ C − 1) is that of the one before it.
    rank = max(1, next(u for u, share in enumerate(below) if share > tail))
    return rank, max(0.0, 1 - 2 * below[rank - 1])


@cache
def _cumulated(m: int, n: int) -> tuple[float, ...]:
    """P(U ≤ u) for u from 0 to mn ÷ 2, where nothing ties and both sides are alike.

    The numbers of orders with each U are the coefficients of Gauss's binomial: the product of (1 − qⁿ⁺ⁱ) ÷ (1 − qⁱ)
    for i from 1 to m. Source: Andrews, The Theory of Partitions (1976), section 3.2; an order with U = u is a partition
    of u into at most m parts of at most n.
    """
    size = m * n // 2 + 1
    counts = [1] + [0] * (size - 1)
    for i in range(1, m + 1):
        for u in range(size - 1, n + i - 1, -1):
            counts[u] -= counts[u - n - i]
        for u in range(i, size):
            counts[u] += counts[u - i]
    total, summed, cumulated = math.comb(m + n, m), 0, []
    for count in counts:
        summed += count
        cumulated.append(summed / total)
    return tuple(cumulated)
