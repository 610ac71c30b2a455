import json
from collections.abc import Callable, Sequence

import pytest

from tests.helpers.comparisons import OTHER_MANIFEST, analysis_of, comparison_of, failures, speeds, spread
from tests.helpers.records import MANIFEST, PING, TCP, UP, cell, trial
from tunbench.analysis.compare import runs as comparing
from tunbench.analysis.compare.compared_cell import VERDICTS, ComparedCell, counts, frame, worst_first
from tunbench.analysis.compare.runs import compare
from tunbench.analysis.compare.selection import CompareError, Selection
from tunbench.analysis.metrics import headlines, more_is_better
from tunbench.journal.record import TrialResult
from tunbench.runner import registry


def only(a: Sequence[TrialResult], b: Sequence[TrialResult]) -> ComparedCell:
    [row] = comparison_of(a, b).rows
    return row


def test_a_slower_stack_is_worse_with_all_that_says_so() -> None:
    row = only(speeds("gre", spread(1e9, 1)), speeds("gre", spread(0.9e9, 2)))
    assert (row.verdict, row.direction, row.effect, row.n_a, row.n_b) == ("worse", "worse", "large", 10, 10)
    assert row.relative == pytest.approx(-0.1, abs=0.01)
    assert row.relative_low is not None and row.relative_high is not None and row.shift is not None
    assert row.relative is not None
    assert row.relative_low < row.relative < row.relative_high < 0
    assert row.shift == pytest.approx(-1e8, rel=0.1)
    assert row.p == row.corrected == pytest.approx(2 / 184756)
    assert row.delta == -1
    assert row.condition == "baseline"


def test_less_is_better_for_a_metric_that_says_so() -> None:
    a, b = (speeds("gre", spread(middle, 1), "ping:count=5", "rtt", "s") for middle in (1e-3, 2e-3))
    assert only(a, b).verdict == "worse"
    assert only(b, a).verdict == "better"


def test_what_is_neither_good_nor_bad_is_different() -> None:
    a, b = (speeds("gre", spread(middle, 1), metric="carried", unit="B") for middle in (1e6, 2e6))
    [row] = comparison_of(a, b, Selection(("carried",))).rows
    assert (row.verdict, row.direction) == ("different", "neither")


def test_alike_samples_show_no_difference() -> None:
    row = only(speeds("gre", spread(1e9, 1)), speeds("gre", spread(1e9, 2)))
    assert (row.verdict, row.why) == ("no difference shown", "")
    assert row.shift_low is not None and row.shift_high is not None
    assert row.shift_low < 0 < row.shift_high


def test_below_eight_trials_a_cell_is_undecided_and_keeps_its_shift() -> None:
    row = only(speeds("gre", spread(1e9, 1, 7)), speeds("gre", spread(0.5e9, 2, 10)))
    assert (row.verdict, row.why) == ("undecided", "7 and 10 trials; it needs 8 on both sides")
    assert row.p is row.corrected is None
    assert row.relative == pytest.approx(-0.5, abs=0.02)
    assert row.direction == "worse"


def test_a_table_that_is_too_long_for_its_trials_is_undecided_and_not_without_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The smallest p of 8 and 8 trials is 2 ÷ 12,870, which is 0.00016.
    monkeypatch.setattr(comparing, "LEVEL", 0.0003)
    a, b = ([*speeds("gre", spread(of, 1, 8)), *speeds("none", spread(of, 1, 8))] for of in (1e9, 0.5e9))
    long, short = comparison_of(a, b), comparison_of(a, b, Selection(stack="gre"))
    assert counts(long.rows) == {"undecided": 2}
    assert long.rows[0].why == (
        "8 and 8 trials cannot reach p < 0.0003 among 2 tests; it needs more trials or fewer cells"
    )
    assert counts(short.rows) == {"worse": 1}


def test_p_is_corrected_over_the_rows_that_were_chosen() -> None:
    a = [one for stack in ("gre", "ipip", "none") for one in speeds(stack, spread(1e9, 1))]
    b = [*speeds("gre", spread(0.9e9, 2)), *speeds("ipip", spread(1e9, 3)), *speeds("none", spread(1e9, 4))]
    every, one = comparison_of(a, b), comparison_of(a, b, Selection(stack="gr*"))
    worst = worst_first(every.rows)[0]
    assert (every.tests, worst.stack) == (3, "gre")
    assert worst.p is not None
    assert worst.corrected == pytest.approx(3 * worst.p)
    assert one.rows[0].corrected == one.rows[0].p == worst.p


@pytest.mark.parametrize(
    ("a", "b", "verdict", "why"),
    [
        (lambda: speeds("gre", spread(1e9, 1)), lambda: [], "only in A", "no trial of it in B"),
        (lambda: [], lambda: speeds("gre", spread(1e9, 1)), "only in B", ""),
        (
            lambda: speeds("gre", spread(1e9, 1, 3)),
            lambda: failures("gre", [1, 2, 3], "no \x1b[31manswer\x1b[0m\nfrom b"),
            "failed in B",
            "3 of 3 trials failed: no answer from b",
        ),
        (
            lambda: speeds("gre", spread(1e9, 1, 10)),
            lambda: [*speeds("gre", spread(1e9, 2, 9)), *failures("gre", [10])],
            "failed in B",
            "1 of 10 trials failed: it broke",
        ),
        (
            lambda: speeds("gre", spread(1e9, 1, 3)),
            lambda: failures("gre", [1], "no module", "unsupported"),
            "failed in B",
            "1 of 1 trials unsupported: no module",
        ),
        (
            lambda: failures("gre", [1, 2]),
            lambda: speeds("gre", spread(1e9, 1, 3)),
            "failed in A",
            "2 of 2 trials failed: it broke",
        ),
        (
            lambda: failures("gre", [1, 2]),
            lambda: failures("gre", [1, 2]),
            "failed in both",
            "2 of 2 trials failed: it broke",
        ),
        (lambda: failures("gre", [1]), lambda: [], "failed in A", "1 of 1 trials failed: it broke"),
        (lambda: [], lambda: failures("gre", [1]), "only in B", "1 of 1 trials failed: it broke"),
    ],
)
def test_what_was_not_measured_in_both_has_a_verdict_and_no_shift(
    a: Callable[[], list[TrialResult]], b: Callable[[], list[TrialResult]], verdict: str, why: str
) -> None:
    both = speeds("none", spread(1e9, 5))
    row = next(one for one in comparison_of([*both, *a()], [*both, *b()]).rows if one.stack == "gre")
    assert (row.verdict, row.why, row.shift, row.p) == (verdict, why, None, None)
    assert row.metric == "throughput"


def test_fewer_failures_than_in_a_leave_the_numbers_to_decide() -> None:
    a = [*speeds("gre", spread(1e9, 1, 9)), *failures("gre", [10])]
    assert only(a, speeds("gre", spread(0.9e9, 2, 10))).verdict == "worse"
    b = [*speeds("gre", spread(0.9e9, 2, 9)), *failures("gre", [10])]
    assert only(a, b).verdict == "worse"


def test_on_the_virtual_clock_equal_values_of_every_seed_are_identical() -> None:
    values = spread(1e9, 1)
    assert only(speeds("gre", values), speeds("gre", values)).verdict == "identical"
    # The same values under other seeds are another result.
    assert only(speeds("gre", values), speeds("gre", values[::-1])).verdict == "no difference shown"


def test_equal_fingerprints_are_identical_on_the_virtual_clock_only() -> None:
    trials = speeds("gre", spread(1e9, 1))
    same = compare(analysis_of(trials), analysis_of(trials))
    assert (same.identical, same.tests, [row.verdict for row in same.rows]) == (True, 0, ["identical"])
    real = {**MANIFEST, "lab": {"kind": "native", "clock": "real"}, "fingerprint": "no promise"}
    both = compare(analysis_of(trials, real), analysis_of(trials, real))
    assert (both.identical, [row.verdict for row in both.rows]) == (False, ["no difference shown"])


def test_what_differs_of_the_runs_is_told() -> None:
    trials = speeds("gre", spread(1e9, 1))
    packages = {**MANIFEST["image"]["packages"], "wireguard-tools": "2"}
    other = {
        **OTHER_MANIFEST,
        "image": {"digest": MANIFEST["image"]["digest"], "packages": packages},
        "host": {"processor": "another"},
        "plan": {**MANIFEST["plan"], "repeats": 10},
        "tools": {"headscale": {"version": "0.28.0", "digest": "b" * 64}},
    }
    told = {one.what: (one.a, one.b) for one in compare(analysis_of(trials), analysis_of(trials, other)).differences}
    assert told == {
        "runner": ("", "changed"),
        "wireguard-tools": ("1.0.20210914-1", "2"),
        "tool headscale": ("", "0.28.0 (bbbbbbbbbbbb)"),
        "plan: repeats": ("3", "10"),
    }
    real = {**MANIFEST, "lab": {"kind": "native", "clock": "real"}}
    differ = compare(
        analysis_of(trials, real), analysis_of(trials, {**real, "host": {"processor": "another"}})
    ).differences
    assert [one.what for one in differ] == ["processor"]


def test_runs_of_different_labs_cannot_be_compared() -> None:
    trials = speeds("gre", spread(1e9, 1))
    real = {**MANIFEST, "lab": {"kind": "native", "clock": "real"}}
    with pytest.raises(CompareError, match=r"different labs, vm \(virtual\) and native \(real\)"):
        compare(analysis_of(trials), analysis_of(trials, real))


def test_without_a_choice_a_workload_is_summed_up_by_its_first_metric() -> None:
    trials = [
        trial(
            cell("gre", "baseline", workload, repeat), [(metric, unit, float(repeat + number)) for metric, unit in rows]
        )
        for repeat in range(1, 3)
        for number, (workload, rows) in enumerate(
            {
                TCP: [("throughput", "bit/s"), ("retransmits", "count"), ("cost", "s/B")],
                PING: [("loss", "ratio"), ("rtt", "s")],
                UP: [("connect", "s")],
                "loaded-latency": [("rtt-idle", "s"), ("rpm-both", "1/min")],
                "of-another-version": [("speed", "m/s")],
            }.items()
        )
    ]
    names = {(row.workload, row.name) for row in comparison_of(trials, trials).rows}
    assert names == {
        (TCP, "throughput"),
        (PING, "rtt"),
        (UP, "connect"),
        ("loaded-latency", "rpm-both"),
        ("of-another-version", "speed"),
    }
    every = comparison_of(trials, trials, Selection(("all",))).rows
    assert len(every) == 9
    assert {row.name for row in comparison_of(trials, trials, Selection(("cost", "loss"))).rows} == {"cost", "loss"}


def test_a_percentile_is_named_with_its_metric() -> None:
    series = [
        trial(cell("gre", "baseline", PING, 1), [("rtt", "s", value, float(at)) for at, value in enumerate((1, 2, 9))])
    ]
    [row] = comparison_of(series, series, Selection(("rtt p99",))).rows
    assert (row.name, row.statistic) == ("rtt p99", "p99")


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (
            Selection(("thruput",)),
            'neither run has the metric "thruput"; did you mean "throughput"?; all takes every one',
        ),
        (Selection(stack="wire*"), '--stack: "wire*" matches no stack of either run; known: gre, none'),
        (Selection(stack="grr"), '--stack: "grr" matches no stack of either run; did you mean "gre"?'),
        (
            Selection(workload="http"),
            f'--workload: "http" matches no workload of either run; known: {TCP}, {PING}',
        ),
        (
            Selection(stack="gr*", workload=PING),
            f'--workload: "{PING}" matches no workload of the stacks "gr*" of either run; known: {TCP}',
        ),
    ],
)
def test_a_choice_that_nothing_has_is_refused(choice: Selection, message: str) -> None:
    trials = [*speeds("gre", [1.0]), *speeds("none", [1.0], PING, "rtt", "s")]
    with pytest.raises(CompareError) as caught:
        comparison_of(trials, trials, choice)
    assert str(caught.value) == message


def test_two_runs_without_a_trial_are_refused_as_that() -> None:
    with pytest.raises(CompareError, match="neither run has a trial to compare"):
        comparison_of([], [])


def test_rows_are_in_the_order_of_the_plan_and_the_worst_stand_first_on_demand() -> None:
    a = [one for stack in ("vxlan", "gre", "none") for one in speeds(stack, spread(1e9, 1))]
    b = [*speeds("vxlan", spread(1.1e9, 2)), *speeds("gre", spread(0.9e9, 2)), *speeds("none", spread(0.5e9, 2))]
    rows = comparison_of(a, b).rows
    assert [row.stack for row in rows] == ["none", "gre", "vxlan"]
    assert [row.stack for row in worst_first(reversed(rows))] == ["none", "gre", "vxlan"]
    assert list(counts(rows)) == ["worse", "better"]


def test_a_comparison_turns_round_with_the_runs() -> None:
    a = [*speeds("gre", spread(1e9, 1)), *speeds("ipip", spread(1e9, 1))]
    b = [*speeds("gre", spread(0.9e9, 2)), *speeds("ipip", spread(1e9, 2))]
    mirror = {"worse": "better", "no difference shown": "no difference shown"}
    for there, back in zip(comparison_of(a, b).rows, comparison_of(b, a).rows, strict=True):
        assert back.verdict == mirror[there.verdict]
        assert (there.p, there.corrected) == pytest.approx((back.p, back.corrected))
        assert there.shift is not None and back.shift is not None
        assert there.shift == -back.shift


def test_the_table_has_a_column_for_each_field_and_is_json() -> None:
    rows = comparison_of(speeds("gre", spread(1e9, 1)), [*failures("gre", [1])]).rows
    table = frame(rows)
    assert table.columns == list(ComparedCell._fields)
    assert frame([]).columns == table.columns
    assert json.loads(json.dumps(rows[0]._asdict()))["verdict"] == rows[0].verdict


def test_every_verdict_is_in_the_closed_set() -> None:
    assert len(set(VERDICTS)) == len(VERDICTS) == 11


@pytest.mark.parametrize("name", registry.workload_names())
def test_every_workload_is_summed_up_by_metrics_that_it_declares(name: str) -> None:
    declared = registry.workload(name).ABOUT.metrics
    assert headlines(name)
    assert set(headlines(name)) <= set(declared)
    for metric in headlines(name):
        assert more_is_better(name, metric) is declared[metric].more_is_better


def test_a_trial_that_is_missing_counts_as_missing_and_not_as_failed() -> None:
    a = speeds("gre", spread(1e9, 1, 10))
    row = only(a, a[:8])
    assert (row.n_a, row.n_b, row.verdict) == (10, 8, "no difference shown")


def test_trials_that_failed_on_both_sides_are_counted_beside_what_is_compared() -> None:
    a, b = speeds("gre", spread(1e9, 1, 10)), speeds("gre", spread(0.5e9, 2, 10))
    row = only([*a[1:], *failures("gre", [1])], [*b[1:], *failures("gre", [1])])
    assert (row.verdict, row.why) == ("worse", "A: 9 ok of 10 trials; B: 9 ok of 10 trials")
    few = only([*a[:2], *failures("gre", [3])], [*b[:2], *failures("gre", [3])])
    assert few.why == "2 and 2 trials; it needs 8 on both sides; A: 2 ok of 3 trials; B: 2 ok of 3 trials"
    assert only(a, b).why == ""


@pytest.mark.parametrize("metric", ["busy", "user", "system", "softirq", "context-switches", "process-time", "energy"])
def test_what_grows_with_what_is_carried_has_no_direction(metric: str) -> None:
    assert more_is_better(TCP, metric) is None


def test_a_window_is_no_result_and_a_cost_is() -> None:
    assert [more_is_better(f"{name}:duration=2", "cwnd") for name in ("iperf3-tcp", "iperf2-tcp")] == [None, None]
    assert more_is_better(TCP, "cost") is False and more_is_better(TCP, "throughput") is True
