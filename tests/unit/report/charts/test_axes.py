"""Axes: what they span, and where they have numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunbench.report.charts.axes import around, from_zero_or_wide, marks, ticks


def test_axes_are_logarithmic_where_values_are_far_apart() -> None:
    wide = around([1e-3, 1.0])
    assert wide.log and ticks(wide) and wide.low < 1e-3 and wide.high > 1
    assert not from_zero_or_wide([5.0, 10.0]).log
    assert from_zero_or_wide([5.0, 10.0]).low == 0
    assert around([0.0, 10.0]).low == 0
    assert wide.value(wide.share(0.05)) == pytest.approx(0.05)


MEASURED = st.one_of(st.just(0.0), st.floats(1e-12, 1e15), st.floats(-1e15, -1e-12))


@given(values=st.lists(MEASURED, min_size=1, max_size=9))
def test_an_axis_holds_whatever_was_measured(values: list[float]) -> None:
    for span in (around(values), from_zero_or_wide(values)):
        assert span.low < span.high
        assert all(-1e-9 <= span.share(value) <= 1 + 1e-9 for value in values)
        found = marks(span)
        assert found == sorted(set(found))
        assert len(found) >= 2
