"""How far two orders of the same systems agree: rank correlations with their p."""

import math
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np
import scipy

FEWEST_FOR_ORDER = 3
"""Systems that both sides must have: two are always in the same or in the opposite order."""

LARGEST_EXACT = 9
"""Systems up to which p is exact by counting all orders; so many orders, 362,880, are counted in about a second."""

KEPT = 32
"""Kinds of ties of which the sums over all orders are kept: the conditions of a table mostly share theirs."""

ROWS_AT_ONCE = 256
"""Systems that are compared with all others at once: of 20,000, that takes some 20 MB, and not 2 GB."""

ROUNDING = 1e-9
"""What is added to a distance within which values tie, so that 97 and 100 are within 3 %, however they are rounded."""

PERMUTED = "exact, over all orders"
KENDALL_EXACT = "exact for tau; for rho Student's t"
APPROXIMATE = "normal approximation for tau, Student's t for rho"


class RankCorrelation(NamedTuple):
    """Kendall's τ_b and Spearman's ρ over n systems, each with its two-sided p, and how p was computed.

    `tied` pairs of systems tie on the first side, and `most` is what τ_b comes to where all others stand in the same
    order. Where there are no numbers they are None, and `method` says why.
    """

    n: int
    tau: float | None
    tau_p: float | None
    rho: float | None
    rho_p: float | None
    method: str
    tied: int = 0
    most: float | None = None


class Rank(NamedTuple):
    """The rank of a value, the smallest 1, and how many others it ties with."""

    rank: float
    ties: int


class _Block(NamedTuple):
    """Some values against all: whether each is larger, and whether it is smaller; neither where they tie."""

    larger: Any
    smaller: Any


class _Sums(NamedTuple):
    """What both coefficients are made of: P − Q, the pairs that do not tie on each side, the doubled ranks of each.

    Ranks are less their mean.
    """

    concordant: int
    apart: tuple[int, int]
    ranks: tuple[Any, Any]


def correlation(x: Sequence[float], y: Sequence[float], within: float = 0.0) -> RankCorrelation:
    """Kendall's τ_b and Spearman's ρ of pairs of values; two of x tie where they are `within` a share of the larger.

    τ_b = Σ aᵢⱼ bᵢⱼ ÷ √(Σ aᵢⱼ² · Σ bᵢⱼ²) over all pairs of systems, where a is the sign of xᵢ − xⱼ and b that of
    yᵢ − yⱼ, and 0 where both tie: the same as (P − Q) ÷ √((n₀ − n₁)(n₀ − n₂)), where P pairs stand in the same order
    on both sides and Q in the opposite one, n₀ = n (n − 1) ÷ 2, and n₁ and n₂ are the pairs that tie on either side.
    Source: Kendall, The Treatment of Ties in Ranking Problems, Biometrika 33 (1945). It takes any scores of pairs with
    aᵢⱼ = −aⱼᵢ, and so also ties that are not transitive. Source: Daniels, The Relation between Measures of Correlation
    in the Universe of Sample Permutations, Biometrika 33 (1944).

    ρ is the correlation of the ranks ½ (n + 1 + Σⱼ aᵢⱼ), which are the mean ranks of those that tie wherever ties are
    transitive. Source: Spearman, The Proof and Measurement of Association between Two Things, American Journal of
    Psychology 15 (1904).

    p is the share of all n! orders in which the coefficient is at least as far from 0, up to LARGEST_EXACT systems,
    with ties or without (Hollander and Wolfe, Nonparametric Statistical Methods, 2nd edition (1999), sections 8.1 and
    8.5). Beyond, that of τ is exact where nothing ties (Kendall, Rank Correlation Methods, 4th edition (1970)) and by
    the normal distribution with Daniels's variance else, and that of ρ by Student's t with n − 2 degrees of freedom.
    Raises ValueError where the lengths differ.
    """
    if len(x) != len(y):
        raise ValueError("a value lacks its counterpart")
    n = len(x)
    if n < FEWEST_FOR_ORDER:
        return _none(n, f"{n} common {'system' if n == 1 else 'systems'}: an order needs at least {FEWEST_FOR_ORDER}")
    sums = _summed(x, y, within)
    pairs = n * (n - 1) // 2
    if not all(sums.apart):
        return _none(n, "all systems tie on one side: that is no order", pairs - sums.apart[0])
    tau, rho = sums.concordant / math.sqrt(math.prod(sums.apart)), _correlated(*sums.ranks)
    tau_p, rho_p, method = _probabilities(x, y, within, sums)
    tied = pairs - sums.apart[0]
    return RankCorrelation(n, _bounded(tau), tau_p, _bounded(rho), rho_p, method, tied, math.sqrt(1 - tied / pairs))


def ranked(values: Sequence[float], within: float = 0.0) -> list[Rank]:
    """The rank of each value; those that tie count one half to each other, so that they have their mean rank."""
    n = len(values)
    pairs = (_counted(block) for block in _blocks(values, within))
    return [Rank((n + 1 + won - lost) / 2, n - 1 - won - lost) for block in pairs for won, lost in block.tolist()]


def _none(n: int, reason: str, tied: int = 0) -> RankCorrelation:
    return RankCorrelation(n, None, None, None, None, reason, tied)


def _bounded(value: float) -> float:
    """The coefficient, without what arithmetic adds beyond ±1."""
    return max(-1.0, min(1.0, value))


def _summed(x: Sequence[float], y: Sequence[float], within: float) -> _Sums:
    concordant, apart = 0, [0, 0]
    ranks: tuple[list[Any], list[Any]] = ([], [])
    for a, b in zip(_blocks(x, within), _blocks(y), strict=True):
        concordant += int(np.count_nonzero(a.larger & b.larger)) - int(np.count_nonzero(a.larger & b.smaller))
        for side, block in enumerate((a, b)):
            won, lost = _counted(block).T
            apart[side] += int(won.sum())
            ranks[side].append(won - lost)
    one, other = (np.concatenate(parts) for parts in ranks)
    return _Sums(concordant, (apart[0], apart[1]), (one, other))


def _blocks(values: Sequence[float], within: float = 0.0) -> Iterator[_Block]:
    """Some values after the other against all of them."""
    every = np.array(values, dtype=np.float64)
    # What is beyond it is larger than a value by more than the share of the larger one, in absolute terms.
    factor = (1 - within) * (1 - ROUNDING if within else 1)
    beyond = np.where(every > 0, every / factor, every * factor)
    for start in range(0, len(every), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        yield _Block(every[rows, None] > beyond, beyond[rows, None] < every)


def _counted(block: _Block) -> Any:
    """How many values each is larger than, and how many it is smaller than."""
    return np.stack([np.count_nonzero(side, axis=1) for side in block], axis=1)


def _correlated(one: Any, other: Any) -> float:
    return float(one @ other) / math.sqrt(float(one @ one) * float(other @ other))


def _probabilities(x: Sequence[float], y: Sequence[float], within: float, sums: _Sums) -> tuple[float, float, str]:
    n = len(x)
    if n <= LARGEST_EXACT:
        orders = _concordant(_key(x, within), _key(y))
        products = _products(*(tuple(sorted(ranks.tolist())) for ranks in sums.ranks))
        return _share(orders, sums.concordant), _share(products, int(sums.ranks[0] @ sums.ranks[1])), PERMUTED
    rho_p = float(scipy.stats.pearsonr(*sums.ranks).pvalue)
    if sum(sums.apart) < n * (n - 1):
        return float(2 * scipy.stats.norm.sf(abs(sums.concordant) / math.sqrt(_variance(n, sums)))), rho_p, APPROXIMATE
    return float(scipy.stats.kendalltau(x, y, method="exact").pvalue), rho_p, KENDALL_EXACT


def _variance(n: int, sums: _Sums) -> float:
    """The variance of P − Q over all orders of one side.

    Σ aᵢⱼ bᵢⱼ over ordered pairs, which is twice as much, has 4 ÷ (n (n − 1)(n − 2)) · (Σ aᵢ² − Σ aᵢⱼ²)(Σ bᵢ² − Σ bᵢⱼ²)
    + 2 ÷ (n (n − 1)) · Σ aᵢⱼ² · Σ bᵢⱼ², where aᵢ = Σⱼ aᵢⱼ. Source: Daniels (1944).
    """
    a, b = (2 * apart for apart in sums.apart)
    in_a, in_b = (float(ranks @ ranks) for ranks in sums.ranks)
    return ((in_a - a) * (in_b - b) / (n * (n - 1) * (n - 2))) + a * b / (2 * n * (n - 1))


def _key(values: Sequence[float], within: float = 0.0) -> tuple[tuple[int, ...], ...]:
    """The scores of few values. Over all orders of one side, it does not matter in which order both are."""
    block = next(_blocks(sorted(values), within))
    scores = block.larger.astype(np.int8) - block.smaller.astype(np.int8)
    return tuple(map(tuple, scores.tolist()))


@lru_cache(maxsize=KEPT)
def _products(one: tuple[int, ...], other: tuple[int, ...]) -> Any:
    """The sum of products of ranks in each order of the other side."""
    return (np.array(other)[_orders(len(one))] @ np.array(one)).astype(np.int16)


@lru_cache(maxsize=KEPT)
def _concordant(one: tuple[tuple[int, ...], ...], other: tuple[tuple[int, ...], ...]) -> Any:
    """The concordant pairs less the discordant ones in each order of the other side."""
    orders, scores = _orders(len(one)), np.array(other, dtype=np.int8)
    sums = np.zeros(len(orders), dtype=np.int16)
    for i, j in combinations(range(len(one)), 2):
        if one[i][j]:
            sums += one[i][j] * scores[orders[:, i], orders[:, j]]
    return sums


def _share(sums: Any, seen: int) -> float:
    return float(np.mean(np.abs(sums) >= abs(seen)))


@cache
def _orders(n: int) -> Any:
    """All orders of n things, one a row."""
    return np.array(list(permutations(range(n))), dtype=np.intp)
