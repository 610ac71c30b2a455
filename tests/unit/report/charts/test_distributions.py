import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunbench.report.charts import distributions


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40))
def test_quantiles_are_those_of_the_tables(values: list[float]) -> None:
    series = pl.Series(values)
    expected = [series.quantile(share, "linear") for share in distributions.SHARES]
    assert distributions.quantiles(values) == pytest.approx(expected, rel=1e-9, abs=1e-6)
