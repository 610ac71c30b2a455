import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import studies
from tests.helpers.records import cell, record, trial
from tunbench.analysis.run_analysis import analyse
from tunbench.analysis.statistics import estimate
from tunbench.analysis.study.cell_lookup import NOT_RUN, MeasuredCells
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
from tunbench.analysis.study.trial_series import STATISTICS
from tunbench.plan.study.cell import OF_SERIES, read_expected
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


def test_the_side_that_was_not_measured_is_named_and_no_statistic_of_the_other(tmp_path: Path) -> None:
    well = [one for one in studies.trials(6, ("baseline",)) if one.cell["stack"] != "gre"]
    run = studies.run(tmp_path, analyse(record(well)))
    for left, right, told in (
        ("gre", "ipip", "gre ÷ ipip, throughput of {}, baseline: gre: not measured"),
        ("ipip", "gre", "ipip ÷ gre, throughput of {}, baseline: gre: not measured"),
        ("gre", None, "gre, throughput of {}, baseline: not measured"),
    ):
        words = study_wording.compared(compare(comparison("> 1", left, right), run))
        assert words.startswith(told.format(studies.TCP))
    both = studies.run(tmp_path, analyse(record([one for one in well if one.cell["stack"] == "none"])))
    assert study_wording.reason(compare(comparison("> 1"), both)) == "ipip: not measured; gre: not measured"
    asked = comparison("> 1", "gre", "ipip", statistic="mean")
    assert study_wording.subject(compare(asked, run)).startswith("gre ÷ ipip, mean throughput of")


def test_the_side_that_the_plan_lacks_is_named_unless_it_is_both(tmp_path: Path) -> None:
    run = studies.run(tmp_path, studies.found(3, ("baseline",)), "quick")
    one = read_comparison(
        {"left": {"stack": "ipip", **BASELINE, "profile": "medium"}, "right": {"profile": "baseline"}, "expect": "> 1"}
    )
    absent = "the plan as it was run has no such cell"
    assert study_wording.outcome(compare(one, run)) == f"medium: {absent}"
    assert study_wording.outcome(compare(comparison("> 1", profile="medium"), run)) == absent


def test_a_side_that_names_no_metric_is_one_of_throughput(tmp_path: Path) -> None:
    left = {"stack": "ipip", **BASELINE, "profile": "medium"}
    one = read_comparison({"left": left, "right": {"metric": "retransmits"}, "expect": "> 1"})
    run = studies.run(tmp_path, studies.found(3, ("baseline",)), "quick")
    assert study_wording.subject(compare(one, run)).startswith("throughput ÷ retransmits, of ")


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
    assert (
        open_.verdict == UNDECIDED
        and "name one, or ask for their sum or spread: pair a-b, node a; pair a-b, node b" in open_.why
    )
    assert compare(comparison("> 2e6", right=None, metric="memory", node="a"), run).verdict == REPRODUCED
    assert compare(comparison("> 2e6", right=None, metric="memory", node="b"), run).verdict == NOT_REPRODUCED
    assert compare(comparison("> 2e6", right=None, metric="memory", node="c"), run).verdict == UNDECIDED


def of_pings(tmp_path: Path, times: list[list[float]]) -> MeasuredCells:
    """A run of one cell, of which each trial has this series."""
    series = [[("rtt", "s", value, 0.1 * number) for number, value in enumerate(one)] for one in times]
    made = [trial(cell("ipip", "baseline", studies.PING, repeat + 1), one) for repeat, one in enumerate(series)]
    return studies.run(tmp_path, analyse(record(made)))


@pytest.mark.parametrize(("statistic", "value"), [("max", 9.0), ("mean", 4.0), ("sd", math.sqrt(12)), ("median", 3.0)])
def test_more_may_be_asked_of_a_series_than_reports_show(tmp_path: Path, statistic: str, value: float) -> None:
    run = of_pings(tmp_path, [[1.0, 9.0, 3.0, 3.0]] * 3)
    asked = {"metric": "rtt", "workload": studies.PING, "statistic": statistic}
    found = compare(comparison("> 0", right=None, **asked), run)
    assert found.estimate and found.estimate.median == pytest.approx(value) and found.left.unit == "s"


def test_the_longest_is_told_beside_the_mean(tmp_path: Path) -> None:
    run = of_pings(tmp_path, [[1.0, 1.0, 1.0, 13.0]] * 3)
    left = {"stack": "ipip", **BASELINE, "metric": "rtt", "workload": studies.PING, "statistic": "max"}
    one = read_comparison({"left": left, "right": {"statistic": "mean"}, "expect": "> 3"})
    found = compare(one, run)
    assert found.verdict == REPRODUCED and found.estimate and found.estimate.median == 13 / 4
    assert study_wording.subject(found) == "max ÷ mean, rtt of ping:count=10, baseline, ipip"


def test_one_value_has_no_deviation(tmp_path: Path) -> None:
    asked = {"metric": "rtt", "workload": studies.PING, "statistic": "sd"}
    found = compare(comparison("> 0", right=None, **asked), of_pings(tmp_path, [[1.0]] * 3))
    assert (found.verdict, found.why) == (UNDECIDED, "its trials have no such statistic, node or pair")


def test_the_spread_over_pairs_is_the_largest_by_the_smallest(tmp_path: Path) -> None:
    samples = [("throughput", "bit/s", value, None, "b", pair) for pair, value in (("a-b", 6e6), ("b-c", 2e6))]
    both = [trial(cell("ipip", "baseline", studies.TCP, repeat), samples) for repeat in (1, 2, 3)]
    run = studies.run(tmp_path, analyse(record(both)))
    found = compare(comparison("> 2", right=None, statistic="spread"), run)
    assert found.verdict == REPRODUCED and found.estimate and found.estimate.median == 3
    assert study_wording.outcome(found).startswith("3")
    alone = compare(comparison("> 2", right=None, statistic="spread"), studies.run(tmp_path, studies.found()))
    assert alone.why == "it was measured at one place alone, which has no spread"


def test_the_sum_over_pairs_and_nodes_is_that_of_each_trial(tmp_path: Path) -> None:
    places = (("a-b", "a", 6e6), ("a-b", "b", 2e6), ("b-c", "c", 1e6))
    both = [
        trial(
            cell("ipip", "baseline", studies.TCP, repeat),
            [("throughput", "bit/s", repeat * value, None, node, pair) for pair, node, value in places],
        )
        for repeat in (1, 2, 3)
    ]
    run = studies.run(tmp_path, analyse(record(both)))
    found = compare(comparison("> 2", right=None, statistic="sum"), run)
    assert found.verdict == REPRODUCED and found.estimate and found.estimate.median == 18e6
    assert (found.left.summed, sorted(found.left.values.values())) == (3, [9e6, 18e6, 27e6])
    of_one_pair = compare(comparison("> 2", right=None, statistic="sum", pair="a-b"), run)
    assert of_one_pair.estimate and of_one_pair.estimate.median == 16e6
    alone = compare(comparison("> 2", right=None, statistic="sum"), studies.run(tmp_path, studies.found()))
    assert alone.why == "it was measured at one place alone, which has no sum"


def of_verdicts(tmp_path: Path, verdicts: str) -> MeasuredCells:
    """A run of one cell: each letter is a trial that is ok, failed or unsupported."""
    words = {"o": "ok", "f": "failed", "u": "unsupported"}
    trials = [
        trial(cell("ipip", "baseline", studies.TCP, number + 1), verdict=words[one])
        for number, one in enumerate(verdicts)
    ]
    return studies.run(tmp_path, analyse(record(trials)))


@pytest.mark.parametrize(
    ("verdicts", "expect", "verdict"),
    [
        ("ffffff", "< 0.5", REPRODUCED),
        ("oooooo", "< 0.5", NOT_REPRODUCED),
        ("offfff", "< 0.5", UNDECIDED),
        ("ooooooooof", "< 1", REPRODUCED),
        # Ten of ten may well be nine of ten.
        ("oooooooooo", "< 1", UNDECIDED),
        ("oooooooooo", "> 0.69", REPRODUCED),
        # What was not there was not tried.
        ("ffffffuuuu", "< 0.5", REPRODUCED),
        ("uuuuuu", "< 0.5", UNDECIDED),
        ("ff", "< 0.9", UNDECIDED),
    ],
)
def test_a_claim_may_ask_for_the_share_of_a_verdict(tmp_path: Path, verdicts: str, expect: str, verdict: str) -> None:
    one = comparison(expect, right=None, verdict="ok")
    found = compare(one, of_verdicts(tmp_path, verdicts))
    assert found.verdict == verdict
    assert study_wording.subject(found) == "ipip, ok trials of iperf3-tcp:duration=1, baseline"


def test_the_share_of_a_verdict_is_told_in_percent(tmp_path: Path) -> None:
    one = comparison("< 1", right=None, verdict="failed")
    told = study_wording.compared(compare(one, of_verdicts(tmp_path, "ooof")))
    assert told.replace("\N{NO-BREAK SPACE}", " ") == (
        "ipip, failed trials of iperf3-tcp:duration=1, baseline: 25.0 % [0.631, 80.6], 95 % interval of 4 trials; "
        "expected < 100 %"
    )
    nothing = compare(one, of_verdicts(tmp_path, "uuu"))
    assert nothing.why == "all trials are unsupported"


@pytest.mark.parametrize(
    ("values", "verdict", "why"),
    [
        ([0.96, 0.98, 1.0, 1.02, 1.04], REPRODUCED, ""),
        # One of five is beyond, and their range is the interval.
        ([0.96, 0.98, 1.0, 1.02, 1.06], UNDECIDED, ""),
        # The 90 % interval of eight leaves out the outermost.
        ([0.5, 0.98, 0.99, 1.0, 1.0, 1.01, 1.02, 1.4], REPRODUCED, ""),
        # Equal in all four, and too few to show it.
        ([1.0, 1.0, 1.0, 1.0], UNDECIDED, "it takes 5 trials to show that two are equal"),
        ([1.2, 1.2, 1.2, 1.2], NOT_REPRODUCED, ""),
        ([0.94, 0.94, 0.94, 0.94, 0.94], NOT_REPRODUCED, ""),
        # 0.955 is within: as far as 1.047 is to the other side.
        ([0.955, 0.955, 0.955, 0.955, 0.955], REPRODUCED, ""),
    ],
)
def test_two_are_equal_where_the_interval_is_within_the_margin(
    tmp_path: Path, values: list[float], verdict: str, why: str
) -> None:
    made = [
        trial(cell(stack, "baseline", studies.TCP, number + 1), [("throughput", "bit/s", 1e6 * value)])
        for number, ratio in enumerate(values)
        for stack, value in (("ipip", ratio), ("gre", 1.0))
    ]
    found = compare(comparison("equal within 5%"), studies.run(tmp_path, analyse(record(made))))
    assert (found.verdict, found.why) == (verdict, why)


def test_a_margin_is_as_wide_to_both_sides() -> None:
    expect = read_expected("equal within 25%")
    assert (expect.low, expect.high, expect.equal) == (0.8, 1.25, True)


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


def test_all_that_a_claim_may_ask_of_a_series_can_be_computed() -> None:
    assert tuple(STATISTICS) == OF_SERIES
