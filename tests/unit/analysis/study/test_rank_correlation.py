import math
import random
import time
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.helpers.spending import begin_peak_anew, peak_bytes
from tunbench.analysis.study.rank_correlation import APPROXIMATE, KENDALL_EXACT, PERMUTED, correlation, ranked

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


@settings(max_examples=30)
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


# Published values of the first row of the study of routers: four within 3 % of each other, but for the outermost two.
ROUTERS = [92.9, 91.7, 91.2, 54.5, 28.0, 80.3, 90.1]


def test_values_within_3_percent_tie_pair_by_pair() -> None:
    # 98 ties with 100 and with 96, which do not tie with each other: of six pairs two tie, and four are in order.
    found = correlation([100, 98, 96, 50], [3, 1, 2, 0], within=0.03)
    assert found.tied == 2 and found.tau == pytest.approx(4 / math.sqrt(4 * 6))
    assert found.most == pytest.approx(math.sqrt(4 / 6))
    # Turned round, the pair of 100 and 96 is the only one of the first three that counts.
    assert correlation([100, 98, 96, 50], [2, 1, 3, 0], within=0.03).tau == pytest.approx(2 / math.sqrt(4 * 6))


def test_ranks_of_ties_that_are_not_transitive_are_counted_by_pairs() -> None:
    assert ranked([100, 98, 96, 50], 0.03) == [(3.5, 1), (3.0, 2), (2.5, 1), (1.0, 0)]
    # ρ is the correlation of these ranks.
    x, y = [1.0, 0.5, 0.0, -1.5], [1.5, -0.5, 0.5, -1.5]
    rho = sum(a * b for a, b in zip(x, y, strict=True)) / math.sqrt(sum(a * a for a in x) * sum(b * b for b in y))
    assert correlation([100, 98, 96, 50], [3, 1, 2, 0], within=0.03).rho == pytest.approx(rho)


@pytest.mark.parametrize(("larger", "smaller", "tie"), [(100, 97, 1), (100, 96.99, 0), (-97, -100, 1), (1e-9, 0, 0)])
def test_the_bound_of_a_tie_is_a_share_of_the_larger_one(larger: float, smaller: float, tie: int) -> None:
    for values in ([larger, smaller], [smaller, larger]):
        assert [one.ties for one in ranked(values, 0.03)] == [tie, tie]


@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=12))
def test_without_a_share_ranks_are_the_usual_ones(values: list[float]) -> None:
    assert [one.rank for one in ranked(values)] == pytest.approx(stats.rankdata(values))


def test_p_with_a_share_is_that_of_all_orders() -> None:
    measured = [93.9, 92.6, 92.5, 11.2, 40.3, 90.3, 92.1]
    found = correlation(ROUTERS, measured, within=0.03)
    assert (found.n, found.tied, found.method) == (7, 5, PERMUTED)
    assert found.tau == pytest.approx(14 / math.sqrt(16 * 21))
    scores = [[_apart(a, b) for b in ROUTERS] for a in ROUTERS]
    ranks = [rank for rank, _ in ranked(ROUTERS, 0.03)]
    taus: list[float] = []
    rhos: list[float] = []
    for order in permutations(measured):
        pairs = ((i, j) for i in range(7) for j in range(i))
        taus.append(sum(scores[i][j] * _sign(order[i] - order[j]) for i, j in pairs))
        rhos.append(sum(a * b for a, b in zip(ranks, stats.rankdata(order), strict=True)) - 7 * 16)
    assert found.tau_p == pytest.approx(_share(taus, 14))
    assert found.rho_p == pytest.approx(_share(rhos, rhos[0]))


def _apart(one: float, other: float) -> int:
    return 0 if abs(one - other) <= 0.03 * max(one, other) else _sign(one - other)


def test_beyond_nine_systems_ties_have_scipys_normal_p() -> None:
    rng = random.Random(4)
    x, y = [rng.randint(1, 5) for _ in range(14)], [rng.randint(1, 9) for _ in range(14)]
    found, tau, rho = correlation(x, y), stats.kendalltau(x, y, method="asymptotic"), stats.spearmanr(x, y)
    assert (found.tau, found.tau_p) == pytest.approx((tau.statistic, tau.pvalue))
    assert (found.rho, found.rho_p) == pytest.approx((rho.statistic, rho.pvalue))


def test_the_normal_p_of_ties_that_are_not_transitive_is_that_of_shuffled_orders() -> None:
    rng = random.Random(5)
    x, y = [rng.uniform(90, 100) for _ in range(12)], [float(number) for number in range(12)]
    found = correlation(x, y, within=0.03)
    shuffled = [correlation(x, rng.sample(y, 12), within=0.03).tau or 0.0 for _ in range(2000)]
    assert found.tau and found.tau_p and found.tied > 10
    # By the normal distribution, p tells how many standard deviations tau is away from 0.
    assert abs(found.tau) / stats.norm.isf(found.tau_p / 2) == pytest.approx(
        math.hypot(*shuffled) / math.sqrt(2000), 0.05
    )


def test_a_table_of_20000_rows_is_compared_in_seconds_and_little_memory() -> None:
    rng = random.Random(6)
    x, y = [rng.random() for _ in range(20_000)], [rng.random() for _ in range(20_000)]
    begin_peak_anew()
    began, before = time.process_time(), peak_bytes()
    assert correlation(x, y, within=0.03).n == 20_000
    assert time.process_time() - began < 20
    assert peak_bytes() - before < 200e6
