import random
import statistics
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tunbench.analysis import bootstrap
from tunbench.analysis.bootstrap import bca, variation

# Average LSAT and GPA of 15 law schools: Efron and Tibshirani, An Introduction to the Bootstrap (1993), table 3.1.
LSAT = [576, 635, 558, 578, 666, 580, 555, 661, 651, 605, 653, 575, 545, 572, 594]
GPA = [3.39, 3.30, 2.81, 3.03, 3.44, 3.07, 3.00, 3.43, 3.36, 3.13, 3.12, 2.74, 2.76, 2.88, 2.96]

# Spatial test A of 26 children: the same, table 14.1.
SPATIAL = [48, 36, 20, 29, 42, 42, 20, 42, 22, 41, 45, 14, 6, 0, 33, 28, 34, 4, 32, 24, 47, 41, 24, 26, 30, 41]


def correlation(x: Any, y: Any, axis: int = -1) -> Any:
    x, y = x - x.mean(axis=axis, keepdims=True), y - y.mean(axis=axis, keepdims=True)
    return (x * y).sum(axis=axis) / np.sqrt((x * x).sum(axis=axis) * (y * y).sum(axis=axis))


def test_the_law_schools_have_the_published_interval() -> None:
    # The 90 % BCa interval of the correlation is about (.43, .92): Efron and Tibshirani (1993).
    found = bca(LSAT, correlation, 0.9, GPA)
    assert (found.n, found.reason) == (15, "")
    assert found.value == pytest.approx(0.776, abs=5e-4)
    assert found.low == pytest.approx(0.43, abs=0.02)
    assert found.high == pytest.approx(0.92, abs=0.01)


def test_the_spatial_test_has_the_published_interval() -> None:
    # The 90 % BCa interval of the variance is (115.8, 259.6): Efron and Tibshirani (1993), table 14.2, of 2,000
    # bootstrap samples. Martinez and Martinez, Computational Statistics Handbook with MATLAB, example 7.8, have
    # (115.97, 258.54) of 2,000 others. The percentile interval is (100.8, 233.9).
    found = bca(SPATIAL, np.var, 0.9)
    assert found.value == pytest.approx(171.5, abs=0.05)
    assert found.low == pytest.approx(115.8, rel=0.03)
    assert found.high == pytest.approx(259.6, rel=0.03)


def test_equal_values_give_equal_intervals() -> None:
    assert bca(SPATIAL, np.mean) == bca(list(SPATIAL), np.mean)


@pytest.mark.parametrize(
    ("values", "value", "reason"),
    [
        ([], None, "there are no values"),
        ([7.0], 7.0, "one value alone has no interval"),
        ([7.0] * 5, 7.0, "all values are equal"),
    ],
)
def test_degenerate_samples_have_no_interval(values: list[float], value: float | None, reason: str) -> None:
    found = bca(values, np.mean)
    assert (found.n, found.value, found.low, found.high, found.reason) == (len(values), value, None, None, reason)


def test_a_statistic_that_is_not_defined_has_no_value() -> None:
    with np.errstate(all="ignore"):
        found = bca([1.0, 1.0], lambda values, axis=-1: np.mean(values, axis=axis) / 0.0)
    assert (found.value, found.reason) == (None, "the statistic is not defined for these values")


def test_a_degenerate_bootstrap_distribution_has_no_interval() -> None:
    found = bca([1.0, 2.0, 3.0], lambda values, axis=-1: np.zeros(np.shape(values)[:-1]) if axis else np.float64(0))
    assert (found.value, found.low, found.reason) == (0, None, "its bootstrap distribution is degenerate")


def test_the_coefficient_of_variation_is_deviation_by_mean() -> None:
    found = variation([9.0, 10.0, 11.0, 10.0, 12.0, 8.0])
    assert found.value == pytest.approx(statistics.stdev([9, 10, 11, 10, 12, 8]) / 10)
    assert found.low is not None and found.high is not None and found.value is not None
    assert 0 < found.low < found.value < found.high


@pytest.mark.parametrize(
    ("values", "value", "reason"),
    [
        ([5.0], None, "it needs at least two values"),
        ([-1.0, 1.0], None, "the mean is 0"),
        ([5.0] * 3, 0.0, "all values are equal"),
    ],
)
def test_a_variation_that_has_no_interval_says_why(values: list[float], value: float | None, reason: str) -> None:
    found = variation(values)
    assert (found.value, found.low, found.high, found.reason) == (value, None, None, reason)


@settings(max_examples=15)
@given(st.lists(st.integers(1, 10_000), min_size=3, max_size=20, unique=True), st.sampled_from([0.125, 4.0]))
def test_variation_does_not_depend_on_the_unit_and_intervals_are_in_order(values: list[int], factor: float) -> None:
    one, other = variation(values), variation([factor * value for value in values])
    assert one.value == pytest.approx(other.value)
    if one.low is not None and one.high is not None:
        assert (one.low, one.high) == pytest.approx((other.low, other.high))
        assert 0 <= one.low <= one.high


def skewed(count: int) -> list[float]:
    rng = random.Random(5)
    return [rng.lognormvariate(0, 0.3) for _ in range(count)]


def test_how_many_values_are_resampled_at_once_changes_no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = variation(values := skewed(300))
    monkeypatch.setattr(bootstrap, "AT_ONCE", 10_000)
    assert variation(values) == whole


def test_twenty_thousand_values_take_neither_long_nor_much_memory() -> None:
    values = skewed(20_000)
    tracemalloc.start()
    began = time.process_time()
    found = variation(values)
    took, (_, most) = time.process_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert took < 5 and most < 300 << 20
    assert found.low is not None and found.high is not None and found.low < found.high


def test_a_wider_sample_has_a_wider_interval() -> None:
    rng = random.Random(3)
    narrow = [100 + rng.gauss(0, 1) for _ in range(20)]
    wide = [100 + 5 * (value - 100) for value in narrow]
    one, other = bca(narrow, np.mean), bca(wide, np.mean)
    assert one.high is not None and one.low is not None and other.high is not None and other.low is not None
    assert other.high - other.low == pytest.approx(5 * (one.high - one.low))
