import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import studies
from tests.helpers.records import cell, record, trial
from tunbench.analysis.run_analysis import analyse
from tunbench.analysis.statistics import estimate
from tunbench.analysis.study.cell_lookup import NOT_RUN
from tunbench.analysis.study.claims import (
    NOT_REPRODUCED,
    NOT_TESTABLE,
    REPRODUCED,
    UNDECIDED,
    assess_claims,
    compare,
    overall,
    ratios,
    verdict_of,
)
from tunbench.plan.study.cell import read_expected
from tunbench.plan.study.claim import Comparison, read_comparison
from tunbench.report import study_wording

BASELINE = {"profile": "baseline", "workload": studies.TCP}


def comparison(expect: str, left: str = "ipip", right: str | None = "gre", **more: str) -> Comparison:
    sides = {"left": {"stack": left, **BASELINE, **more}, **({"right": {"stack": right}} if right else {})}
    return read_comparison({**sides, "expect": expect})


@pytest.mark.parametrize(
    ("expect", "verdict"),
    [
        ("> 1", REPRODUCED),
        ("> 2", NOT_REPRODUCED),
        ("> 1.5", UNDECIDED),
        ("< 1", NOT_REPRODUCED),
        ("< 3", REPRODUCED),
        ("> 1.2", REPRODUCED),
        (">= 1.25", REPRODUCED),
        ("> 1.25", UNDECIDED),
        ("<= 1.8", REPRODUCED),
        ("< 1.8", UNDECIDED),
        ("< 1.25", NOT_REPRODUCED),
        ("<= 1.25", UNDECIDED),
        ("1..2", REPRODUCED),
        ("1.5..2", UNDECIDED),
        ("1.9..2", NOT_REPRODUCED),
        ("0..1", NOT_REPRODUCED),
        ("1.4..1.5", UNDECIDED),
    ],
)
def test_an_interval_is_within_what_is_expected_or_outside_or_both(expect: str, verdict: str) -> None:
    of_six = estimate([1.25, 1.3, 1.4, 1.6, 1.7, 1.8])
    assert (of_six.low, of_six.high) == (1.25, 1.8)
    assert verdict_of(of_six, read_expected(expect)) == verdict


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=30), st.floats(0.01, 100))
def test_what_is_reproduced_one_way_is_not_the_other_way(values: list[float], bound: float) -> None:
    over, under = (verdict_of(estimate(values), read_expected(f"{sign} {bound!r}")) for sign in (">", "<="))
    assert {over, under} in ({REPRODUCED, NOT_REPRODUCED}, {UNDECIDED})


def test_ratios_are_of_trials_with_the_same_seed() -> None:
    left, right = {(1, 5): 2.0, (2, 6): 3.0, (3, 7): 9.0}, {(2, 6): 6.0, (1, 5): 1.0, (3, 8): 1.0}
    assert ratios(left, right) == [2.0, 0.5]


def test_nothing_by_nothing_is_equal_and_something_by_nothing_infinitely_more() -> None:
    assert ratios({(1, 1): 0.0, (2, 2): 0.5}, {(1, 1): 0.0, (2, 2): 0.0}) == [1.0, math.inf]


def test_a_seed_moves_both_sides_and_cancels(tmp_path: Path) -> None:
    found = compare(comparison("> 1"), studies.run(tmp_path, studies.found()))
    assert found.verdict == REPRODUCED and found.estimate
    assert found.estimate.low == pytest.approx(8 / 7) and found.estimate.high == pytest.approx(8 / 7)
    assert found.estimate.n == 6


def test_without_right_it_is_the_value_in_si_units(tmp_path: Path) -> None:
    run = studies.run(tmp_path, studies.found())
    found = compare(comparison("> 8e7", right=None), run)
    assert found.verdict == REPRODUCED and found.estimate and found.left.unit == "bit/s"
    assert found.estimate.low == pytest.approx(80e6 * 1.02)
    assert compare(comparison("> 1e9", right=None), run).verdict == NOT_REPRODUCED


def test_a_series_is_its_median_or_the_percentile_that_is_named(tmp_path: Path) -> None:
    run = studies.run(tmp_path, studies.found())
    median = compare(comparison("> 0", "none", None, metric="rtt", workload=studies.PING), run)
    high = compare(comparison("> 0", "none", None, metric="rtt", workload=studies.PING, statistic="p99"), run)
    assert median.left.cell["statistic"] == "median"
    assert median.estimate and median.estimate.median == pytest.approx(1.045e-5)
    assert high.estimate and high.estimate.median > median.estimate.median


def test_a_cell_that_the_scale_leaves_out_is_not_run(tmp_path: Path) -> None:
    analysis = studies.found(3, ("baseline",))
    run = studies.run(tmp_path, analysis, "quick")
    found = compare(comparison("> 1", profile="medium"), run)
    assert (found.verdict, found.estimate) == (NOT_RUN, None)
    assert compare(comparison("> 1"), run).verdict == REPRODUCED


def test_a_cell_without_values_is_undecided_and_says_why(tmp_path: Path) -> None:
    broken = [trial(cell("gre", "baseline", studies.TCP, 1), verdict="failed", reason="no route to host")]
    well = [one for one in studies.trials(6, ("baseline",)) if one.cell["stack"] != "gre"]
    found = compare(comparison("> 1"), studies.run(tmp_path, analyse(record([*well, *broken]))))
    assert (found.verdict, found.why) == (UNDECIDED, "no trial is ok: no route to host")
    found = compare(comparison("> 1"), studies.run(tmp_path, analyse(record(well))))
    assert (found.verdict, found.why) == (UNDECIDED, "not measured")


def test_fewer_than_three_trials_decide_nothing(tmp_path: Path) -> None:
    for trials, verdict in ((2, UNDECIDED), (3, REPRODUCED)):
        found = compare(comparison("> 1"), studies.run(tmp_path, studies.found(trials, ("baseline",))))
        assert found.verdict == verdict
        assert ("3 trials" in found.why) is (verdict == UNDECIDED)


def test_one_of_many_comparisons_refutes_by_more_confidence() -> None:
    # Nine of ten values are below 1: the 95 % interval is as well, one of 99.9 % is the range and is not.
    values = [0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97, 0.98, 1.02]
    assert verdict_of(estimate(values), read_expected("> 1")) == NOT_REPRODUCED
    assert verdict_of(estimate(values, 1 - 0.05 / 64), read_expected("> 1")) == UNDECIDED


def test_what_is_told_is_the_interval_that_decides(tmp_path: Path) -> None:
    run = studies.run(tmp_path, studies.found(10, ("baseline",)))
    alone, of_five = (compare(comparison("< 1"), run, among) for among in (1, 5))
    assert alone.verdict == of_five.verdict == NOT_REPRODUCED
    assert alone.estimate and alone.estimate.kind == "95 % interval"
    assert of_five.estimate and of_five.estimate.kind == "99 % interval"
    # What is not refuted needs no more confidence.
    kept = compare(comparison("> 1"), run, 5)
    assert kept.estimate and kept.estimate.kind == "95 % interval"


def test_trials_that_failed_are_counted_beside_the_others(tmp_path: Path) -> None:
    lost = [one for one in studies.trials(6, ("baseline",)) if one.cell["stack"] == "gre" and one.cell["repeat"] < 3]
    broken = [trial(one.cell, verdict="failed", reason="it broke") for one in lost]
    well = [one for one in studies.trials(6, ("baseline",)) if one not in lost]
    run = studies.run(tmp_path, analyse(record([*well, *broken])))
    found = compare(comparison("> 1"), run)
    assert found.right and found.left.trials == (6, 6) and found.right.trials == (4, 6)
    assert found.estimate and found.estimate.n == 4
    assert study_wording.outcome(found).endswith("range of 4 trials; gre: 4 ok of 6 trials")
    assert study_wording.lacking(compare(comparison("> 1", right="none"), run)) == []
    assert study_wording.outcome(compare(comparison("> 1", left="gre", right=None), run)).endswith(
        "gre: 4 ok of 6 trials"
    )


@pytest.mark.parametrize(
    ("expect", "unit", "words"),
    [
        ("< 0.005", "s", "< 5 ms"),
        (">= 3.9e8", "bit/s", ">= 390 Mbit/s"),
        ("<= 0", "ratio", "<= 0 %"),
        ("0.001..0.002", "s", "1 ms..2 ms"),
        ("> 1", "", "> 1"),
    ],
)
def test_what_is_expected_of_a_value_has_its_unit(expect: str, unit: str, words: str) -> None:
    assert study_wording.expected(read_expected(expect), unit).replace("\N{NO-BREAK SPACE}", " ") == words
    one = comparison(expect, right=None, metric="x")
    assert study_wording.comparison_in_words(one, {"x": unit}).replace("\N{NO-BREAK SPACE}", " ").endswith(words)
    # A ratio of two values has no unit.
    assert study_wording.comparison_in_words(comparison("> 1", metric="x"), {"x": "s"}).endswith("> 1")


def test_values_of_several_nodes_are_undecided_until_one_is_named(tmp_path: Path) -> None:
    samples = [("memory", "B", 4e6, None, "a"), ("memory", "B", 1e6, None, "b")]
    both = [trial(cell("ipip", "baseline", studies.TCP, repeat), samples) for repeat in (1, 2, 3)]
    run = studies.run(tmp_path, analyse(record(both)))
    open_ = compare(comparison("> 2e6", right=None, metric="memory"), run)
    assert open_.verdict == UNDECIDED and "name one: pair a-b, node a; pair a-b, node b" in open_.why
    assert compare(comparison("> 2e6", right=None, metric="memory", node="a"), run).verdict == REPRODUCED
    assert compare(comparison("> 2e6", right=None, metric="memory", node="b"), run).verdict == NOT_REPRODUCED
    assert compare(comparison("> 2e6", right=None, metric="memory", node="c"), run).verdict == UNDECIDED


def test_bringing_a_stack_up_can_be_compared(tmp_path: Path) -> None:
    made = [
        trial(cell(stack, "baseline", "up", 1), [("connect", "s", 2.0 - (stack == "gre"))]) for stack in ("ipip", "gre")
    ]
    found = compare(comparison("> 1", metric="connect", workload="up"), studies.run(tmp_path, analyse(record(made))))
    assert found.estimate and found.estimate.median == 2


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [
        ([], NOT_TESTABLE),
        ([REPRODUCED], REPRODUCED),
        ([REPRODUCED, UNDECIDED], UNDECIDED),
        ([UNDECIDED, NOT_RUN, REPRODUCED], NOT_RUN),
        ([NOT_RUN, NOT_REPRODUCED, UNDECIDED], NOT_REPRODUCED),
    ],
)
def test_all_comparisons_of_a_claim_must_hold(verdicts: list[str], verdict: str) -> None:
    assert overall(verdicts) == verdict


def test_claims_of_a_study(tmp_path: Path) -> None:
    claims = studies.loaded(tmp_path).claims
    full = assess_claims(claims, studies.run(tmp_path, studies.found()))
    assert [one.verdict for one in full] == [REPRODUCED, NOT_REPRODUCED, REPRODUCED, NOT_TESTABLE]
    quick = assess_claims(claims, studies.run(tmp_path, studies.found(3, ("baseline",)), "quick"))
    assert [one.verdict for one in quick] == [REPRODUCED, NOT_REPRODUCED, NOT_RUN, NOT_TESTABLE]
