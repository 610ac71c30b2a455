import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunbench.runner.declare import quantity


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("20ms", 0.02), ("1.5 s", 1.5), ("250us", 250e-6), ("250µs", 250e-6), ("3ns", 3e-9), ("2min", 120), ("1h", 3600)],
)
def test_durations(text: str, seconds: float) -> None:
    assert quantity.duration(text) == seconds


def test_a_bare_duration_counts_in_seconds_unless_told_otherwise() -> None:
    assert quantity.duration("2") == 2
    assert quantity.duration("2", bare="ms") == 0.002
    with pytest.raises(ValueError, match="no unit"):
        quantity.duration("2", bare="")


@pytest.mark.parametrize(("text", "rate"), [("50M", 50e6), ("1Gbit", 1e9), ("9600", 9600), ("64k", 64e3)])
def test_rates_have_decimal_prefixes(text: str, rate: float) -> None:
    assert quantity.rate(text) == rate


@pytest.mark.parametrize(("text", "size"), [("1300", 1300), ("4KiB", 4096), ("4kB", 4000), ("1.5KiB", 1536)])
def test_sizes(text: str, size: int) -> None:
    assert quantity.size(text) == size


@pytest.mark.parametrize(("text", "ratio"), [("0.1%", 0.001), ("2.5 %", 0.025), ("0%", 0), ("100%", 1)])
def test_ratios_are_the_nearest_to_what_is_written(text: str, ratio: float) -> None:
    assert quantity.ratio(text) == ratio


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (quantity.duration, "10 mss", 'unknown unit "mss"'),
        (quantity.duration, "", "write a number and its unit"),
        (quantity.duration, "1e3s", "unknown unit|not a duration"),
        (quantity.duration, "ten ms", "not a duration"),
        (quantity.ratio, "120%", "between 0% and 100%"),
        (quantity.ratio, "-1%", "between 0% and 100%"),
        (quantity.ratio, "0.1", "no unit"),
        (quantity.count, "1.5", "not a whole number"),
        (quantity.count, "10ms", "unknown unit"),
        (quantity.size, "0.3", "not a whole number"),
        (quantity.rate, "9" * 400, "out of range"),
    ],
)
def test_what_is_refused(read: object, text: str, message: str) -> None:
    assert callable(read)
    with pytest.raises(ValueError, match=message):
        read(text)


@pytest.mark.parametrize("read", [quantity.duration, quantity.rate, quantity.size, quantity.ratio, quantity.count])
@given(text=st.text() | st.from_regex(r"[+-]?\d+(\.\d+)?\s*[A-Za-zµ%]{0,4}", fullmatch=True))
def test_any_text_is_a_finite_number_or_a_value_error(read: object, text: str) -> None:
    assert callable(read)
    with contextlib.suppress(ValueError):
        assert math.isfinite(read(text))


@given(st.integers(0, 10**9))
def test_milliseconds_are_exactly_thousandths(number: int) -> None:
    assert quantity.duration(f"{number}ms") == number / 1000
