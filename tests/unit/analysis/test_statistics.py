import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunbench.analysis.statistics import FEWEST_FOR_INTERVAL, INTERVAL, RANGE, coverage, estimate, median_rank

# n, rank of the lower bound, coverage in percent: the two-sided 95 % intervals of the median as tables of order
# statistics print them (Hahn and Meeker, Statistical Intervals, 1991, section 5.2).
PUBLISHED = [
    (6, 1, 96.88),
    (7, 1, 98.44),
    (8, 1, 99.22),
    (9, 2, 96.09),
    (10, 2, 97.85),
    (11, 2, 98.83),
    (12, 3, 96.14),
    (13, 3, 97.75),
    (15, 4, 96.48),
    (20, 6, 95.86),
    (25, 8, 95.67),
    (30, 10, 95.72),
]

floats = st.floats(-1e9, 1e9)


@pytest.mark.parametrize(("n", "rank", "percent"), PUBLISHED)
def test_ranks_and_coverage_are_those_of_published_tables(n: int, rank: int, percent: float) -> None:
    assert median_rank(n) == rank
    assert coverage(n, rank) * 100 == pytest.approx(percent, abs=0.006)


@pytest.mark.parametrize("n", range(1, FEWEST_FOR_INTERVAL))
def test_fewer_than_six_values_have_their_range(n: int) -> None:
    found = estimate([float(value) for value in range(n)])
    assert (found.low, found.high, found.kind) == (0, n - 1, RANGE)
    assert found.coverage == pytest.approx(1 - 2 * 0.5**n)
    assert found.coverage < 0.95


def test_ten_values_have_the_interval_from_the_second_to_the_ninth() -> None:
    found = estimate([3.0, 1, 4, 10, 5, 9, 2, 6, 8, 7])
    assert (found.n, found.median, found.low, found.high, found.kind) == (10, 5.5, 2, 9, INTERVAL)
    assert found.coverage == pytest.approx(0.978515625)


def test_nothing_has_no_median() -> None:
    with pytest.raises(ValueError, match="nothing"):
        estimate([])


def test_one_value_says_nothing_about_the_median() -> None:
    assert estimate([7.0]) == (1, 7.0, 7.0, 7.0, 0.0, RANGE)


@given(st.integers(FEWEST_FOR_INTERVAL, 400))
def test_the_interval_is_wide_enough_and_no_narrower_one_is(n: int) -> None:
    rank = median_rank(n)
    assert 1 <= rank <= n // 2
    assert coverage(n, rank) >= 0.95
    assert rank == n // 2 or coverage(n, rank + 1) < 0.95


@given(st.integers(1, 60), st.integers(1, 30))
def test_coverage_is_the_sum_of_binomial_terms(n: int, rank: int) -> None:
    outside = sum(math.comb(n, k) for k in range(min(rank, n + 1))) / 2**n
    assert coverage(n, rank) == pytest.approx(max(0.0, 1 - 2 * outside), abs=1e-12)


@given(st.lists(floats, min_size=1, max_size=40))
def test_the_bounds_are_values_around_the_median(values: list[float]) -> None:
    found = estimate(values)
    assert found.low <= found.median <= found.high
    assert {found.low, found.high} <= set(values)


@given(st.lists(floats, min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_the_order_of_values_does_not_matter(values: list[float], rng: random.Random) -> None:
    shuffled = values.copy()
    rng.shuffle(shuffled)
    assert estimate(shuffled) == estimate(values)


def test_intervals_hold_the_true_median_as_often_as_they_say() -> None:
    rng = random.Random(1)
    trials = 4000
    held = 0
    for _ in range(trials):
        found = estimate([rng.expovariate(1) for _ in range(10)])
        held += found.low <= math.log(2) <= found.high
    error = math.sqrt(0.9785 * 0.0215 / trials)
    assert held / trials == pytest.approx(0.978515625, abs=4 * error)


def test_an_interval_is_called_by_the_confidence_that_was_asked_for() -> None:
    values = [float(value) for value in range(30)]
    kinds = [estimate(values, confidence).kind for confidence in (0.95, 0.99, 1 - 0.05 / 64, 0.9)]
    assert kinds == ["95 % interval", "99 % interval", "99.92 % interval", "90 % interval"]
    assert estimate(values[:6], 0.99).kind == RANGE
