"""Every warning that follows from measurements fires where it should, and stays silent where it should not."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from tests.helpers.records import TCP, UP, cell, realistic, record, trial
from tunbench.analysis.audit import bimodality, machine_time, repeats, trend
from tunbench.analysis.cells import cells, per_trial
from tunbench.analysis.multiple_tests import holm
from tunbench.analysis.run_analysis import analyse
from tunbench.analysis.samples import good_samples
from tunbench.analysis.statistics import FEWEST_FOR_INTERVAL
from tunbench.journal.record import Record, Warned
from tunbench.runner import probe
from tunbench.runner.declare.warnings import WarningKind

Numbers = NDArray[np.float64]

PAGE = (Path(__file__).parents[4] / "docs" / "methodology.md").read_text()

HIGH_AND_LOW = [600.0, 905, 603, 598, 899, 601, 903, 604, 597, 900]
RISING = [100.0, 101, 103, 102, 105, 107, 106, 109, 110, 112]


def run_of(
    values: Sequence[float],
    metric: str = "throughput",
    unit: str = "bit/s",
    clock: str = "virtual",
    workload: str = TCP,
) -> Record:
    """A value a trial, of two stacks."""
    trials = [
        trial({**cell(stack, workload=workload, repeat=repeat), "clock": clock}, [(metric, unit, value)])
        for stack in ("none", "gre")
        for repeat, value in enumerate(values if stack == "gre" else [7.0] * len(values), start=1)
    ]
    return record(trials)


def found(name: str, whole: Record) -> list[Warned]:
    return [one for warning in analyse(whole).warnings if warning.name == name for one in warning.found]


# bimodal


def test_two_groups_of_trials_are_warned_of() -> None:
    assert found("bimodal", run_of(HIGH_AND_LOW)) == [
        Warned(
            "bimodal",
            f"gre, baseline, {TCP}",
            "throughput at a: 10 trials fall into two groups, 42 % of their mean apart",
        )
    ]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([600.0 + 5 * n for n in range(10)], "one group"),
        (HIGH_AND_LOW[:7], "too few"),
        ([600.0] * 8 + [900.0, 901], "the smaller group is an outlier"),
        ([600.0] * 5 + [601.0] * 5, "rounding"),
        ([600.0] * 10, "no difference at all"),
        ([0.0] * 10, "nothing at all"),
    ],
)
def test_one_group_is_not_warned_of(values: list[float], why: str) -> None:
    assert found("bimodal", run_of(values)) == [], why


@pytest.mark.parametrize(
    ("metric", "unit", "workload"), [("loss", "ratio", TCP), ("cost-packet", "s", TCP), ("connect", "s", UP)]
)
def test_what_is_neither_a_throughput_nor_a_time_of_a_workload_is_not_examined(
    metric: str, unit: str, workload: str
) -> None:
    for values in (HIGH_AND_LOW, RISING):
        whole = run_of(values, metric, unit, "real", workload)
        assert found("bimodal", whole) + found("drift", whole) == []


def test_equal_groups_are_apart_however_small_their_spread() -> None:
    assert bimodality.bimodal(np.array([[600.0] * 5 + [900.0] * 5])).tolist() == [True]
    assert bimodality.bimodal(np.array([[-600.0] * 5 + [-900.0] * 5, [1.0] * 10])).tolist() == [True, False]


DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, tuple[int, int]], Numbers]] = {
    # Far from 0 and near to it: the least distance of the groups must not be what keeps the alarms down.
    "normal": lambda rng, size: rng.normal(1, 0.5, size),
    "uniform": lambda rng, size: rng.random(size),
    "exponential": lambda rng, size: rng.standard_exponential(size),
    "log-normal": lambda rng, size: np.exp(rng.standard_normal(size)),
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("n", [8, 9, 10, 11, 12, 13, 15, 16, 17, 20, 25, 30, 50, 100])
def test_one_group_is_hardly_ever_taken_for_two(name: str, n: int) -> None:
    rows = 20_000 if n <= 30 else 5_000
    alarms = bimodality.bimodal(DISTRIBUTIONS[name](np.random.default_rng(n), (rows, n)))
    assert alarms.mean() <= 0.003


@pytest.mark.parametrize(("n", "distance"), [(8, 20), (10, 18), (20, 10), (30, 8), (100, 6.5)])
def test_two_groups_are_hardly_ever_missed(n: int, distance: float) -> None:
    rng = np.random.default_rng(n)
    series = 100 + rng.normal(0, 1, (2_000, n)) + distance * (np.arange(n) % 2)
    assert bimodality.bimodal(series).mean() > 0.8


@given(st.lists(st.floats(1, 1e9), min_size=8, max_size=30), st.floats(1e-3, 1e3), st.randoms())
def test_two_groups_depend_on_neither_unit_nor_order(values: list[float], factor: float, rng: object) -> None:
    series = np.array([values])
    [before], [apart] = bimodality.split(series)
    [after], _ = bimodality.split(series[:, ::-1] * factor)
    assert after == pytest.approx(before, rel=1e-3) or min(apart, 1 / max(before, 1e-9)) < 1e-6


# drift


def test_a_trend_over_repeats_is_warned_of_on_the_real_clock() -> None:
    [one] = found("drift", run_of(RISING, clock="real"))
    assert one.where == f"gre, baseline, {TCP}"
    assert re.fullmatch(r"throughput at a rises over 10 repeats: p = \S+, corrected for 2 cells", one.text)
    [one] = found("drift", run_of(RISING[::-1], clock="real"))
    assert "falls over 10 repeats" in one.text


def test_it_is_not_looked_for_where_repeats_are_boots_in_virtual_time() -> None:
    assert found("drift", run_of(RISING)) == []


@pytest.mark.parametrize("values", [RISING[:7], [100.0, 112, 101, 110, 103, 109, 102, 106, 105, 107], [5.0] * 10])
def test_chance_and_few_repeats_are_no_trend(values: list[float]) -> None:
    assert found("drift", run_of(values, clock="real")) == []


def test_the_order_is_that_of_repeats_and_not_of_the_journal() -> None:
    shuffled = replace(whole := run_of(RISING, clock="real"), trials=tuple(reversed(whole.trials)))
    assert len(found("drift", shuffled)) == 1


@pytest.mark.parametrize("n", [2, 3, 5, 8, 20, 60])
def test_p_is_kendalls(n: int) -> None:
    series = np.random.default_rng(n).random((20, n))
    p = trend.p_values(trend.rises(series), n)
    expected = [stats.kendalltau(range(n), row, method="exact").pvalue for row in series]
    assert p == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("n", [61, 200])
def test_p_of_many_values_is_that_of_the_normal_approximation(n: int) -> None:
    series = np.random.default_rng(n).random((20, n)) + np.linspace(0, 0.3, n)
    expected = [stats.kendalltau(range(n), row, method="exact").pvalue for row in series]
    assert trend.p_values(trend.rises(series), n) == pytest.approx(expected, abs=2e-3)


def test_without_a_trend_one_run_of_twenty_is_warned_at_most() -> None:
    rng = np.random.default_rng(1)
    false = 0
    for _ in range(400):
        rising = trend.rises(rng.random((30, 10)))
        false += bool(any(p is not None and p < repeats.LEVEL for p in holm(trend.p_values(rising, 10).tolist())))
    assert false <= 0.05 * 400 + 3 * math.sqrt(400 * 0.05 * 0.95)


# saturated-machine and costly-probe


def probed(metric: str, shares: Sequence[float], workload: str = TCP, **more: str) -> Record:
    """What a probe measured of the machine under each of some stacks, beside a throughput."""
    return record(
        [
            trial(
                {**cell(f"stack{number}", workload=workload), **more},
                [
                    ("throughput", "bit/s", 1e9),
                    (metric, "ratio", share, None, "lab"),
                    (metric, "ratio", 1.0, None, "cpu0"),
                ],
            )
            for number, share in enumerate(shares)
        ]
    )


def test_a_busy_machine_is_warned_of_once_a_condition_and_workload() -> None:
    assert found("saturated-machine", probed("busy", [0.5, 1.0, 0.97, 0.96, 0.99])) == [
        Warned(
            "saturated-machine",
            f"baseline, {TCP}",
            "4 of 5 stacks kept the machine busy for more than 95 % of the time: "
            "stack1 (100 %), stack4 (99 %), stack2 (97 %) and 1 more",
        )
    ]
    [one] = found("saturated-machine", probed("busy", [1.0], machine="slow"))
    assert one.where == f"baseline, machine=slow, {TCP}"


def test_a_machine_with_time_left_is_not_warned_of() -> None:
    assert found("saturated-machine", probed("busy", [0.95, 0.2])) == []


@pytest.mark.parametrize(("metric", "unit", "number"), [("goodput", "bit/s", 1), ("rtt", "s", 0)])
def test_a_busy_machine_matters_beside_rates_alone(metric: str, unit: str, number: int) -> None:
    samples = [(metric, unit, 1e-3), ("busy", "ratio", 1.0, None, "lab")]
    assert len(found("saturated-machine", record([trial(cell("none"), samples)]))) == number


def test_costly_probes_are_warned_of() -> None:
    [one] = found("costly-probe", probed(probe.PROBE_SHARE, [0.01, 0.06]))
    assert one.text == "1 of 2 stacks are so short that the probes took more than 5 % of the time: stack1 (6 %)"
    assert found("costly-probe", probed(probe.PROBE_SHARE, [0.01, 0.05])) == []


# all of them


def test_every_warning_has_a_row_with_its_meaning_and_mend() -> None:
    table = PAGE.partition("| warning | meaning | mend |\n")[2].partition("\n\n")[0].splitlines()[1:]
    shown = {
        row[0].strip("`"): tuple(row[1:])
        for row in ([field.strip() for field in line.strip("|").split("|")] for line in table)
    }
    assert shown == {kind.value: (kind.meaning, kind.mend) for kind in WarningKind}


def test_an_interval_takes_as_many_trials_as_its_warning_says() -> None:
    assert f"at least {FEWEST_FOR_INTERVAL} " in WarningKind.TOO_FEW_TRIALS.mend


def test_many_cells_are_examined_at_once() -> None:
    values = per_trial(good_samples(realistic(12).trials))
    series = list(repeats.examined(values))
    assert {one.values.shape[1] for one in series} == {11, 12}
    assert set(series[0].cells["metric"]) | set(series[1].cells["metric"]) == {"rtt", "throughput"}


def test_the_checks_take_the_tables_of_a_run_without_trials() -> None:
    values = per_trial(good_samples([]))
    assert repeats.bimodal(values) == repeats.drift(values) == []
    assert machine_time.saturated_machine(cells(values)) == machine_time.costly_probes(cells(values)) == []
