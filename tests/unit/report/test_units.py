import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunbench.report import units


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (12.04e9, "bit/s", "12.0 Gbit/s"),
        (999.6e6, "bit/s", "1.00 Gbit/s"),
        (182e6, "bit/s", "182 Mbit/s"),
        (0, "bit/s", "0 bit/s"),
        (0.00114, "s", "1.14 ms"),
        (4.6e-5, "s", "46.0 µs"),
        (1.5, "s", "1.50 s"),
        (0.0199, "ratio", "1.99 %"),
        (1, "ratio", "100 %"),
        (0.9994, "ratio", "99.9 %"),
        (1 - 1 / 3135, "ratio", "99.96 %"),
        (1 - 1e-6, "ratio", "99.9999 %"),
        (math.nextafter(1, 0), "ratio", "99.999999999 %"),
        (0, "ratio", "0 %"),
        (12345, "count", "12\N{NARROW NO-BREAK SPACE}345"),
        (12.5, "count", "12.5"),
        (996_051_456, "B/s", "996 MB/s"),
        (2e-9, "s/B", "2.00 ns/B"),
        (-3e-3, "s", "\N{MINUS SIGN}3.00 ms"),
        (7, "furlong", "7.00 furlong"),
        (None, "s", "\N{EN DASH}"),
    ],
)
def test_quantities(value: float | None, unit: str, text: str) -> None:
    assert units.quantity(value, unit).replace(units.NBSP, " ") == text


def test_an_interval_is_in_the_scale_of_its_median() -> None:
    assert units.interval(0.9e9, 1.2e9, 12e9, "bit/s") == "[0.900, 12.0]"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0511, "0.0511"),
        (1, "1.00"),
        (1234.4, "1234"),
        (12345.6, "12346"),
        (math.inf, "\N{INFINITY}"),
        (-math.inf, "\N{MINUS SIGN}\N{INFINITY}"),
    ],
)
def test_numbers_have_three_digits_and_all_whole_ones(value: float, text: str) -> None:
    assert units.number(value) == text


@given(st.floats(1e-9, 1e13), st.sampled_from(sorted(units.SCALES)))
def test_what_is_shown_is_the_value_within_three_digits(value: float, unit: str) -> None:
    chosen = units.scale(value, unit)
    shown = float(units.number(value / chosen.factor))
    assert shown * chosen.factor == pytest.approx(value, rel=6e-3)


@pytest.mark.parametrize(("value", "text"), [(4e-3, "4 ms"), (2.5e-3, "2.5 ms")])
def test_plain_quantities_have_no_needless_zeros(value: float, text: str) -> None:
    assert units.plain(value, "s").replace(units.NBSP, " ") == text


@pytest.mark.parametrize(("value", "text"), [(12.3, "12.3 s"), (372, "6 min 12 s"), (7384, "2 h 3 min")])
def test_durations(value: float, text: str) -> None:
    assert units.seconds(value).replace(units.NBSP, " ") == text


def test_what_is_no_number_is_shown_as_it_is() -> None:
    assert units.number(math.nan) == "nan"
