import math
import random
import tracemalloc
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tunbench.analysis.compare import pairwise_differences
from tunbench.analysis.compare.two_samples import (
    ASYMPTOTIC,
    CONSTANT,
    EXACT,
    UNDECIDED,
    cliff,
    mann_whitney,
    relative,
    shift,
    smallest_p,
)
from tunbench.analysis.multiple_tests import holm

# Permeability constants of the human chorioamnion, at term and at 12 to 26 weeks: Hollander and Wolfe, Nonparametric
# Statistical Methods (1973), page 69; 2nd edition (1999), table 4.1; in the examples of R's wilcox.test.
AT_TERM = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
EARLIER = [1.15, 0.88, 0.90, 0.74, 1.21]

values = st.integers(-1000, 1000).map(lambda number: number / 8)
samples = st.lists(values, min_size=1, max_size=15)
large = st.lists(values, min_size=8, max_size=15)
positive = st.lists(st.integers(1, 1000).map(float), min_size=1, max_size=12)


def test_shift_and_interval_are_those_of_the_published_example() -> None:
    # R, package coin: wilcox_test(pd ~ age, distribution = "exact", conf.int = TRUE) gives -0.305 and [-0.76, 0.15]
    # from term to earlier (mailing list R-help, with Hollander and Wolfe (1999), pages 110 and 111).
    found = shift(EARLIER, AT_TERM)
    assert found[:3] == pytest.approx((0.305, -0.15, 0.76))
    assert found.coverage == pytest.approx(1 - 2 * 0.01998, abs=1e-4)


def test_too_few_values_are_undecided_and_have_their_u() -> None:
    # R: wilcox.test(x, y) has W = 35.
    assert mann_whitney(EARLIER, AT_TERM) == (35, None, UNDECIDED)


def test_exact_p_is_the_share_of_all_orders_that_are_as_extreme() -> None:
    rng = random.Random(5)
    a, b = [rng.random() for _ in range(8)], [rng.random() + 0.3 for _ in range(8)]
    found = mann_whitney(a, b)
    ranks = {value: rank for rank, value in enumerate(sorted(a + b), start=1)}
    far = abs(sum(ranks[value] for value in b) - 68)
    extreme = sum(abs(sum(chosen) - 68) >= far for chosen in combinations(range(1, 17), 8))
    assert found.method == EXACT
    assert found.p == pytest.approx(extreme / math.comb(16, 8))


def test_with_ties_p_is_the_share_of_all_divisions_that_are_as_extreme() -> None:
    a, b = [1.0, 1, 2, 2, 3, 3, 4, 4], [2.0, 3, 3, 4, 4, 5, 5, 6]
    ranks = stats.rankdata([*a, *b])
    far = abs(ranks[8:].sum() - 68)
    extreme = sum(abs(sum(chosen) - 68) >= far for chosen in combinations(ranks, 8))
    found = mann_whitney(a, b)
    assert (found.u, found.method) == (51, EXACT)
    assert found.p == pytest.approx(extreme / math.comb(16, 8))
    assert mann_whitney([1.0] * 8, [1.0] * 9) == (36, 1.0, CONSTANT)


def test_one_tie_among_values_that_do_not_overlap_does_not_hide_the_difference() -> None:
    a, b = [1.0, 1.0, 2, 3, 4, 5, 6, 7], [10.0, 11, 12, 13, 14, 15, 16, 17]
    assert mann_whitney(a, b).p == pytest.approx(smallest_p(8, 8))


def test_many_values_take_the_normal_distribution() -> None:
    a = [1.0, 1, 2, 2, 3, 3, 4, 4] * 7
    b = [2.0, 3, 3, 4, 4, 5, 5, 6] * 7
    found = mann_whitney(a, b)
    # Tied groups of 14, 21, 28, 28, 14 and 7 values among 112, 56 on either side, and U 49 times that of one eighth.
    ties = sum(size**3 - size for size in (14, 21, 28, 28, 14, 7))
    z = (51 * 49 - 56 * 56 / 2 - 0.5) / math.sqrt(56 * 56 / 12 * (113 - ties / (112 * 111)))
    assert found.method == ASYMPTOTIC
    assert found.p == pytest.approx(math.erfc(z / math.sqrt(2)))


def test_smallest_p_is_that_of_samples_that_do_not_overlap() -> None:
    assert mann_whitney(list(range(8)), list(range(8, 16))).p == pytest.approx(smallest_p(8, 8))
    assert smallest_p(8, 8) == pytest.approx(2 / 12870)


@given(large, large)
def test_p_and_u_are_symmetric(a: list[float], b: list[float]) -> None:
    one, other = mann_whitney(a, b), mann_whitney(b, a)
    assert one.u + other.u == len(a) * len(b)
    assert one.p == pytest.approx(other.p)
    assert one.p is not None
    assert 0 < one.p <= 1


# p.adjust(c(.042, .001, .031, .014, .007), "holm") by hand; Holm's levels .05/7, .05/6, … of the second are passed by
# 0.001 and 0.0025 alone (R, package HDLSSkST, example of Holm).
@pytest.mark.parametrize(
    ("raw", "corrected"),
    [
        ([0.042, 0.001, 0.031, 0.014, 0.007], [0.062, 0.005, 0.062, 0.042, 0.028]),
        ([0.50, 0.01, 0.001, 0.69, 0.02, 0.05, 0.0025], [1.0, 0.05, 0.007, 1.0, 0.08, 0.15, 0.015]),
        ([], []),
        ([0.04], [0.04]),
        ([None, 0.01, None, 0.04], [None, 0.02, None, 0.04]),
    ],
)
def test_holm_is_as_published(raw: list[float | None], corrected: list[float | None]) -> None:
    assert holm(raw) == [pytest.approx(p) if p is not None else None for p in corrected]


@given(st.lists(st.floats(0, 1), max_size=30))
def test_holm_is_monotone_bounded_and_never_below_the_raw_p(raw: list[float]) -> None:
    corrected = [p or 0.0 for p in holm(raw)]
    assert all(0 <= before <= after <= 1 for before, after in zip(raw, corrected, strict=True))
    assert [p for _, p in sorted(zip(raw, corrected, strict=True))] == sorted(corrected)
    assert all(after <= min(1.0, before * len(raw)) for before, after in zip(raw, corrected, strict=True))


@given(samples, samples)
def test_the_interval_holds_the_shift_and_turns_round_with_the_samples(a: list[float], b: list[float]) -> None:
    there, back = shift(a, b), shift(b, a)
    assert there.low <= there.value <= there.high
    assert (there.value, there.low, there.high) == (-back.value, -back.high, -back.low)


@given(samples, samples, values)
def test_the_shift_moves_with_the_values(a: list[float], b: list[float], by: float) -> None:
    before, after = shift(a, b), shift(a, [value + by for value in b])
    assert after[:3] == tuple(bound + by for bound in before[:3])
    assert after.coverage == before.coverage


@given(positive, positive, st.sampled_from([0.001, 2.0, 1e9]))
def test_the_relative_shift_does_not_depend_on_the_unit(a: list[float], b: list[float], factor: float) -> None:
    one = relative(a, b)
    other = relative([value * factor for value in a], [value * factor for value in b])
    back = relative(b, a)
    assert one and other and back
    assert other[:3] == pytest.approx(one[:3], abs=1e-9)
    assert (1 + one.value) * (1 + back.value) == pytest.approx(1)
    assert one.low <= one.value <= one.high


@given(st.lists(st.floats(-1e30, 1e30), min_size=1, max_size=5), st.lists(values, min_size=1, max_size=5))
def test_a_difference_of_some_rank_is_found_without_making_all_of_them(a: list[float], b: list[float]) -> None:
    rising = sorted(late - early for early in a for late in b)
    ranks = range(1, len(rising) + 1)
    assert pairwise_differences.differences(a, b, ranks) == rising
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pairwise_differences, "MOST_PAIRS", 0)
        assert pairwise_differences.differences(a, b, ranks) == rising


def test_a_shift_of_many_values_takes_little_memory() -> None:
    rng = random.Random(1)
    a, b = ([rng.gauss(mean, 1) for _ in range(20_000)] for mean in (0, 1))
    tracemalloc.start()
    moved = shift(a, b)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert moved.low < 1 < moved.high and moved.high - moved.low < 0.1
    assert most < 16 << 20


def test_a_share_of_what_is_not_positive_is_none() -> None:
    assert relative([0.0, 1.0], [1.0]) is None
    assert relative([1.0], [-1.0]) is None


def test_too_few_values_for_the_confidence_have_the_widest_interval_and_its_coverage() -> None:
    found = shift([1.0, 2.0], [10.0, 20.0])
    assert (found.low, found.high) == (8, 19)
    assert found.coverage == pytest.approx(1 - 2 / 6)
    with pytest.raises(ValueError, match="both sides"):
        shift([], [1.0])


@pytest.mark.parametrize(("m", "n"), [(8, 8), (10, 5), (30, 49)])
def test_the_interval_covers_as_much_as_it_says_by_the_rank_before_it_fails(m: int, n: int) -> None:
    a, b = [float(value) for value in range(m)], [1000.0 * value for value in range(1, n + 1)]
    found = shift(a, b)
    differences = sorted(late - early for early in a for late in b)
    assert found.coverage >= 0.95
    rank = differences.index(found.low) + 1
    narrower = _coverage(m, n, rank + 1)
    assert _coverage(m, n, rank) == pytest.approx(found.coverage)
    assert narrower < 0.95


def _coverage(m: int, n: int, rank: int) -> float:
    """1 − 2 P(U ≤ rank − 1), by the recurrence of Mann and Whitney (1947), equation 1."""
    counts: dict[tuple[int, int], list[int]] = {}
    for i in range(m + 1):
        for j in range(n + 1):
            row = [0] * (m * n + 1)
            if not i or not j:
                row[0] = 1
            else:
                for u in range(i * j + 1):
                    row[u] = counts[i, j - 1][u] + (counts[i - 1, j][u - j] if u >= j else 0)
            counts[i, j] = row
    return 1 - 2 * sum(counts[m, n][:rank]) / math.comb(m + n, m)


def test_beyond_fifty_values_the_normal_approximation_is_near_the_exact_ranks() -> None:
    rng = random.Random(2)
    a, b = [rng.random() for _ in range(49)], [rng.random() for _ in range(49)]
    exact, approximate = shift(a, b), shift([*a, 0.5], b)
    assert approximate.low == pytest.approx(exact.low, abs=0.01)
    assert approximate.high == pytest.approx(exact.high, abs=0.01)


def test_intervals_hold_the_true_shift_as_often_as_they_say() -> None:
    rng = random.Random(1)
    held, trials = 0, 1500
    for _ in range(trials):
        found = shift([rng.expovariate(1) for _ in range(8)], [rng.expovariate(1) + 2 for _ in range(10)])
        held += found.low <= 2 <= found.high
    coverage = shift([0.0] * 8, [0.0] * 10).coverage
    assert held / trials == pytest.approx(coverage, abs=4 * math.sqrt(coverage * (1 - coverage) / trials))


# R, package effsize, tests of cliff.delta: delta estimate: -0.25 (small). neilernst/cliffsDelta: -0.0667 (negligible).
@pytest.mark.parametrize(
    ("treatment", "delta", "word"),
    [
        ([10, 10, 20, 20, 20, 30, 30, 30, 40, 50], -0.25, "small"),
        ([10, 20, 20, 20, 30, 30, 30, 40, 50, 100], -4 / 60, "negligible"),
    ],
)
def test_cliffs_delta_is_as_published(treatment: list[float], delta: float, word: str) -> None:
    found = cliff([10, 20, 30, 40, 40, 50], treatment)
    assert found.delta == pytest.approx(delta)
    assert found.word == word


@pytest.mark.parametrize(
    ("more", "of", "word"),
    [(573, 1000, "negligible"), (574, 1000, "small"), (665, 1000, "medium"), (737, 1000, "large")],
)
def test_words_change_at_the_published_thresholds(more: int, of: int, word: str) -> None:
    # delta = 2 × more ÷ of − 1: 0.146, 0.148, 0.33 and 0.474.
    assert cliff([0.0], [1.0] * more + [-1.0] * (of - more)).word == word


@given(samples, samples)
def test_delta_is_bounded_and_changes_its_sign_with_the_samples(a: list[float], b: list[float]) -> None:
    found = cliff(a, b)
    assert -1 <= found.delta <= 1
    assert cliff(b, a) == (-found.delta, found.word)
    assert cliff([3 * value - 7 for value in a], [3 * value - 7 for value in b]) == found
