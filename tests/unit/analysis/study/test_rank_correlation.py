import math
import random
import time
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tunbench.analysis.study.rank_correlation import APPROXIMATE, KENDALL_EXACT, PERMUTED, correlation

# Hunter L measure of lightness and panel scores of 9 lots of canned tuna: Hollander and Wolfe, Nonparametric
# Statistical Methods (1973), page 187; in the examples of R's cor.test.
HUNTER = [44.4, 45.9, 41.9, 53.3, 44.7, 44.1, 50.7, 45.2, 60.1]
PANEL = [2.6, 3.1, 2.5, 5.0, 3.6, 4.0, 5.2, 2.8, 3.8]

few = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=7)


def test_the_tuna_has_the_published_coefficients_and_p() -> None:
    # R: cor.test(x, y, method = "kendall", alternative = "greater") has tau 0.4444 and p = 0.05972, one-sided; with
    # method = "spearman" rho is 0.6 and p = 0.0484, one-sided.
    found = correlation(HUNTER, PANEL)
    assert (found.n, found.method) == (9, PERMUTED)
    assert (found.tau, found.rho) == pytest.approx((4 / 9, 0.6))
    assert found.tau_p == pytest.approx(2 * 0.05972, abs=2e-5)
    assert found.rho_p == pytest.approx(2 * 0.0484, abs=1e-4)


# The upper tails of exact tables: P(rho ≥ 1) = 1 ÷ n!, P(rho ≥ 0.9) = 0.0417 for n = 5 and P(rho ≥ 0.829) = 0.029 for
# n = 6, P(K ≥ 8) = 0.042 for n = 5 (Hollander and Wolfe (1999), tables A.30 and A.31); two-sided here.
@pytest.mark.parametrize(
    ("order", "rho", "rho_p", "tau_p"),
    [
        ([1, 2, 3, 4, 5], 1.0, 2 / 120, 2 / 120),
        ([2, 1, 3, 4, 5], 0.9, 2 * 0.0417, 2 * 0.0417),
        ([1, 2, 4, 3, 6, 5], 1 - 6 * 4 / 210, None, None),
        ([2, 3, 1, 4, 5, 6], 1 - 6 * 6 / 210, 2 * 0.029, None),
    ],
)
def test_p_is_that_of_exact_tables(order: list[int], rho: float, rho_p: float | None, tau_p: float | None) -> None:
    found = correlation(range(len(order)), order)
    assert found.rho == pytest.approx(rho)
    if rho_p is not None:
        assert found.rho_p == pytest.approx(rho_p, abs=1e-3)
    if tau_p is not None:
        assert found.tau_p == pytest.approx(tau_p, abs=1e-3)


@pytest.mark.parametrize("n", range(3, 10))
def test_tau_without_ties_has_scipys_exact_p(n: int) -> None:
    order = random.Random(n).sample(range(n), n)
    found = correlation(range(n), order)
    known = stats.kendalltau(range(n), order, method="exact")
    assert (found.tau, found.tau_p) == pytest.approx((known.statistic, known.pvalue))


@settings(max_examples=30, deadline=None)
@given(few)
def test_p_with_ties_is_the_share_of_all_orders(pairs: list[tuple[int, int]]) -> None:
    x, y = [float(one) for one, _ in pairs], [float(other) for _, other in pairs]
    found = correlation(x, y)
    if found.tau is None or found.rho is None:
        assert len(set(x)) == 1 or len(set(y)) == 1
        return
    taus, rhos = _all(x, y)
    assert found.tau_p == pytest.approx(_share(taus, found.tau))
    assert found.rho_p == pytest.approx(_share(rhos, found.rho))


def _all(x: list[float], y: list[float]) -> tuple[list[float], list[float]]:
    """Both coefficients, up to a factor, of every order of y: of tau the concordant less the discordant pairs."""
    ranks = [stats.rankdata(side) - (len(x) + 1) / 2 for side in (x, y)]
    scale = math.sqrt(sum(ranks[0] ** 2) * sum(ranks[1] ** 2))
    places = range(len(x))
    ties = [math.sqrt(sum(side[i] != side[j] for i in places for j in range(i))) for side in (x, y)]
    taus, rhos = [], []
    for order in permutations(places):
        rhos.append(sum(ranks[0][i] * ranks[1][order[i]] for i in places) / scale)
        signs = (_sign(x[i] - x[j]) * _sign(y[order[i]] - y[order[j]]) for i in places for j in range(i))
        taus.append(sum(signs) / (ties[0] * ties[1]))
    return taus, rhos


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)


def _share(values: list[float], seen: float) -> float:
    return sum(abs(value) >= abs(seen) - 1e-9 for value in values) / len(values)


def test_beyond_nine_systems_the_method_is_named() -> None:
    rng = random.Random(1)
    x, y = [rng.random() for _ in range(12)], [rng.random() for _ in range(12)]
    assert correlation(x, y).method == KENDALL_EXACT
    assert correlation(x, y).tau_p == pytest.approx(stats.kendalltau(x, y, method="exact").pvalue)
    assert correlation(x, [round(value, 1) for value in y]).method == APPROXIMATE


@pytest.mark.parametrize("n", [0, 1, 2])
def test_too_few_systems_have_no_numbers_and_say_why(n: int) -> None:
    found = correlation(range(n), range(n))
    assert found[:5] == (n, None, None, None, None)
    assert found.method == f"{n} common {'system' if n == 1 else 'systems'}: an order needs at least 3"


def test_where_all_tie_there_is_no_order() -> None:
    found = correlation([1, 2, 3], [4, 4, 4])
    assert (found.n, found.tau, found.method) == (3, None, "all systems tie on one side: that is no order")


@given(few)
def test_coefficients_are_bounded_and_turn_round_with_an_order(pairs: list[tuple[int, int]]) -> None:
    x, y = [one for one, _ in pairs], [other for _, other in pairs]
    there, back = correlation(x, y), correlation(x, [-value for value in y])
    if there.tau is None or there.rho is None or back.tau is None or back.rho is None:
        return
    assert -1 <= there.tau <= 1
    assert -1 <= there.rho <= 1
    assert (back.tau, back.rho) == pytest.approx((-there.tau, -there.rho))
    assert (back.tau_p, back.rho_p) == pytest.approx((there.tau_p, there.rho_p))
    assert correlation(y, x)[1:5] == pytest.approx(there[1:5])


def test_a_value_needs_its_counterpart() -> None:
    with pytest.raises(ValueError, match="counterpart"):
        correlation([1, 2, 3], [1, 2])


def test_the_orders_of_a_table_with_many_conditions_are_counted_once() -> None:
    rng = random.Random(1)
    correlation(HUNTER, PANEL)
    began = time.process_time()
    for _ in range(100):
        correlation([rng.random() for _ in range(9)], [rng.random() for _ in range(9)])
    assert time.process_time() - began < 3
