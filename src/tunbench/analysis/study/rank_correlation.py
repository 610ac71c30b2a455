"""How far two orders of the same systems agree: rank correlations with their p."""

from collections.abc import Sequence
from functools import cache, lru_cache
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

FEWEST_FOR_ORDER = 3
"""Systems that both sides must have: two are always in the same or in the opposite order."""

LARGEST_EXACT = 9
"""Systems up to which p is exact by counting all orders; so many orders, 362,880, are counted in about a second."""

KEPT = 32
"""Kinds of ties of which the sums over all orders are kept: the conditions of a table mostly share theirs."""

PERMUTED = "exact, over all orders"
KENDALL_EXACT = "exact for tau; for rho Student's t"
APPROXIMATE = "normal approximation for tau, Student's t for rho"


class RankCorrelation(NamedTuple):
    """Kendall's τ_b and Spearman's ρ over n systems, each with its two-sided p, and how p was computed.

    Where there are no numbers they are None, and `method` says why.
    """

    n: int
    tau: float | None
    tau_p: float | None
    rho: float | None
    rho_p: float | None
    method: str


def correlation(x: Sequence[float], y: Sequence[float]) -> RankCorrelation:
    """Kendall's τ_b and Spearman's ρ of pairs of values.

    τ_b = (P − Q) ÷ √((n₀ − n₁)(n₀ − n₂)), where P pairs of systems stand in the same order on both sides and Q in the
    opposite one, n₀ = n (n − 1) ÷ 2, and n₁ and n₂ are the pairs that tie on either side. Source: Kendall, The
    Treatment of Ties in Ranking Problems, Biometrika 33 (1945). ρ is the correlation of the ranks; those that tie have
    their mean. Source: Spearman, The Proof and Measurement of Association between Two Things, American Journal of
    Psychology 15 (1904).

    p is the share of all n! orders in which the coefficient is at least as far from 0, up to LARGEST_EXACT systems,
    with ties or without (Hollander and Wolfe, Nonparametric Statistical Methods, 2nd edition (1999), sections 8.1 and
    8.5). Beyond, that of τ is exact where nothing ties (Kendall, Rank Correlation Methods, 4th edition (1970)) and by
    the normal distribution else, and that of ρ by Student's t with n − 2 degrees of freedom. Raises ValueError where
    the lengths differ.
    """
    if len(x) != len(y):
        raise ValueError("a value lacks its counterpart")
    n = len(x)
    if n < FEWEST_FOR_ORDER:
        return _none(n, f"{n} common {'system' if n == 1 else 'systems'}: an order needs at least {FEWEST_FOR_ORDER}")
    if len(set(x)) == 1 or len(set(y)) == 1:
        return _none(n, "all systems tie on one side: that is no order")
    tau, rho = _value(stats.kendalltau(x, y).statistic), _value(stats.spearmanr(x, y).statistic)
    if n <= LARGEST_EXACT:
        return RankCorrelation(n, tau, _kendall_p(x, y), rho, _spearman_p(x, y), PERMUTED)
    tied = len(set(x)) < n or len(set(y)) < n
    tau_p = float(stats.kendalltau(x, y, method="asymptotic" if tied else "exact").pvalue)
    rho_p = float(stats.spearmanr(x, y).pvalue)
    return RankCorrelation(n, tau, tau_p, rho, rho_p, APPROXIMATE if tied else KENDALL_EXACT)


def _none(n: int, reason: str) -> RankCorrelation:
    return RankCorrelation(n, None, None, None, None, reason)


def _value(found: Any) -> float:
    """The coefficient, without what arithmetic adds beyond ±1."""
    return max(-1.0, min(1.0, float(found)))


def _spearman_p(x: Sequence[float], y: Sequence[float]) -> float:
    one, other = _ranks(x), _ranks(y)
    return _share(_products(_sorted(one), _sorted(other)), int(one @ other))


def _kendall_p(x: Sequence[float], y: Sequence[float]) -> float:
    one, other = _ranks(x), _ranks(y)
    pairs = combinations(range(len(x)), 2)
    seen = sum(int(np.sign(one[i] - one[j]) * np.sign(other[i] - other[j])) for i, j in pairs)
    return _share(_concordant(_sorted(one), _sorted(other)), seen)


def _ranks(values: Sequence[float]) -> Any:
    """Doubled ranks, less their mean: whole numbers, so that sums are exact, and so is every comparison."""
    return np.rint(2 * stats.rankdata(values)).astype(np.int64) - (len(values) + 1)


def _sorted(ranks: Any) -> tuple[int, ...]:
    """Over all orders of one side, it does not matter in which order both are: what ties decides."""
    return tuple(sorted(ranks.tolist()))


@lru_cache(maxsize=KEPT)
def _products(one: tuple[int, ...], other: tuple[int, ...]) -> Any:
    """The sum of products of ranks in each order of the other side."""
    return (np.array(other)[_orders(len(one))] @ np.array(one)).astype(np.int16)


@lru_cache(maxsize=KEPT)
def _concordant(one: tuple[int, ...], other: tuple[int, ...]) -> Any:
    """The concordant pairs less the discordant ones in each order of the other side."""
    shuffled = np.array(other)[_orders(len(one))]
    sums = np.zeros(len(shuffled), dtype=np.int16)
    for i, j in combinations(range(len(one)), 2):
        sums += np.sign(one[i] - one[j]) * np.sign(shuffled[:, i] - shuffled[:, j]).astype(np.int16)
    return sums


def _share(sums: Any, seen: int) -> float:
    return float(np.mean(np.abs(sums) >= abs(seen)))


@cache
def _orders(n: int) -> Any:
    """All orders of n things, one a row."""
    return np.array(list(permutations(range(n))), dtype=np.intp)
