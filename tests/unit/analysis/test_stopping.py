"""Adaptive stopping: whether cells are narrow enough, which samples alone decide."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.records import TCP, cell, trial
from tunbench.analysis.cells import per_trial
from tunbench.analysis.samples import good_samples
from tunbench.analysis.statistics import median_rank
from tunbench.analysis.stopping import Narrowness, narrow_enough, widths
from tunbench.plan.until import BLOCK, Until

RTT = Until(0.1, metrics=("rtt",))


def samples(*values: float, metric: str = "rtt", unit: str = "s", stack: str = "none") -> pl.DataFrame:
    """A value a trial."""
    trials = [
        trial(cell(stack, workload=TCP, repeat=repeat), [(metric, unit, value)])
        for repeat, value in enumerate(values, start=1)
    ]
    return good_samples(trials)


@pytest.mark.parametrize(
    ("values", "width"),
    [
        ([1.0] * 5, None),
        ([1.0] * 6, 0.0),
        ([9.0, 10, 10, 10, 10, 11], 0.2),
        ([-9.0, -10, -10, -10, -10, -11], 0.2),
        # Of ten values the interval is from the second to the ninth.
        ([1.0, 9, 10, 10, 10, 10, 10, 10, 11, 99], 0.2),
        ([-1.0, 0, 0, 0, 0, 1], None),
        ([0.0] * 6, 0.0),
    ],
)
def test_the_width_is_that_of_the_interval_relative_to_the_median(values: list[float], width: float | None) -> None:
    found = widths(per_trial(samples(*values)), RTT)["width"].to_list()
    assert found == [pytest.approx(width) if width is not None else None]


def test_every_cell_must_be_narrow_enough() -> None:
    narrow, wide = samples(*[10.0, 10.1] * 5), samples(*[10.0, 19.0] * 5, stack="gre")
    assert narrow_enough(narrow, RTT).enough
    answer = narrow_enough(pl.concat([narrow, wide]), RTT)
    assert not answer.enough
    assert answer.widest is not None
    assert answer.widest["width"] == pytest.approx(9 / 14.5)
    # What has no interval is wider than anything.
    answer = narrow_enough(pl.concat([wide, samples(1.0, stack="gre").with_columns(node=pl.lit("b"))]), RTT)
    assert answer.widest == {
        **{"workload": TCP, "pair": "a-b", "node": "b", "metric": "rtt", "statistic": "value", "width": None}
    }


def test_other_metrics_and_percentiles_and_the_time_to_come_up_do_not_count() -> None:
    assert narrow_enough(samples(*range(20), metric="loss", unit="ratio"), RTT) == Narrowness(False, None)
    up = [trial(cell("none", workload="up", repeat=n), [("rtt", "s", float(n))]) for n in range(1, 9)]
    assert narrow_enough(good_samples(up), RTT) == Narrowness(False, None)
    series = [
        trial(cell("none", repeat=n), [("rtt", "s", value, value) for value in (1.0, 2.0, 3.0 * n)])
        for n in range(1, 9)
    ]
    assert narrow_enough(good_samples(series), RTT).enough


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30), st.randoms())
@settings(max_examples=25)
def test_the_answer_does_not_depend_on_the_order(values: list[float], rng: Any) -> None:
    found = samples(*values)
    order = list(range(len(found)))
    rng.shuffle(order)
    assert narrow_enough(found[order], RTT) == narrow_enough(found, RTT)


def test_metrics_are_narrow_only_below_the_width() -> None:
    values = samples(*[10.0, 11.0] * 5)
    width = widths(per_trial(values), RTT)["width"][0]
    assert narrow_enough(values, RTT._replace(width=width)).enough
    assert not narrow_enough(values, RTT._replace(width=math.nextafter(width, 0))).enough
    assert BLOCK == 5


def test_stopping_costs_little_of_the_confidence_over_all_cells() -> None:
    """docs/methodology.md: values whose interval after 30 repeats is as wide as was asked, the worst case there."""
    rng = np.random.default_rng(7)
    drawn = rng.normal(1, 0.02, (20_000, 30))
    open_yet, holds = np.ones(len(drawn), bool), np.zeros(len(drawn), bool)
    for n in range(10, 31, BLOCK):
        ordered, rank = np.sort(drawn[:, :n], axis=1), median_rank(n)
        low, high = ordered[:, rank - 1], ordered[:, n - rank]
        narrow = (high - low) / np.median(ordered, axis=1) <= 0.02
        stops = open_yet & (narrow | (n == 30))
        holds[stops] = ((low <= 1) & (high >= 1))[stops]
        open_yet &= ~stops
    assert holds.mean() == pytest.approx(0.943, abs=0.005)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_an_interval_of_any_confidence_has_a_width(confidence: float) -> None:
    until = RTT._replace(confidence=confidence)
    assert widths(per_trial(samples(*[10.0, 11.0] * 5)), until)["width"][0] is not None
    assert widths(per_trial(samples(10.0, 11.0, 10.0)), until)["width"][0] is None
