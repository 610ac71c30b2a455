"""R of a call, from the delays and losses that a trial has."""

import pytest

from tests.helpers.records import cell, record, trial
from tunbench.analysis import e_model
from tunbench.analysis.calls import BUFFER, PACKET, calls, heard
from tunbench.analysis.run_analysis import analyse
from tunbench.plan.choice import CALL
from tunbench.report.terminal.calls import lines

Sample = tuple[str, str, float, float | None, str, str]


def way(node: str, delays: list[float], loss: float) -> list[Sample]:
    """What a trial tells of one direction."""
    heard: list[Sample] = [("one-way-delay", "s", one, 0.02 * place, node, "a-b") for place, one in enumerate(delays)]
    return [*heard, ("loss", "ratio", loss, None, node, "a-b")]


def test_speech_waits_for_its_packet_and_for_the_buffer() -> None:
    found = heard([0.030, 0.031, 0.069], 0.01)
    assert found.delay == pytest.approx(PACKET + 0.030 + BUFFER)
    assert found.unplayed == pytest.approx(0.01)
    assert found.rating == e_model.rating(found.delay, found.unplayed)


def test_jitter_is_what_comes_too_late() -> None:
    """One in four takes longer than the buffer waits, and of those that are lost nobody knows."""
    found = heard([0.030, 0.031, 0.032, 0.080], 0.1)
    assert found.unplayed == pytest.approx(1 - 0.9 * 0.75)


def test_the_worse_direction_of_a_trial_counts() -> None:
    trials = [
        trial(cell("none", "baseline", CALL, repeat), [*way("a", [0.01], 0.0), *way("b", [0.2], 0.05)])
        for repeat in range(1, 8)
    ]
    (found,) = calls(analyse(record(trials)), [CALL])
    assert found.rating.median == pytest.approx(e_model.rating(PACKET + 0.2 + BUFFER, 0.05))
    assert (found.stack, found.rating.n) == ("none", 7)
    assert found.unplayed == pytest.approx(0.05)
    assert found.opinion.median == pytest.approx(e_model.opinion(found.rating.median))


def test_each_stack_has_its_own_and_other_workloads_are_none() -> None:
    trials = [
        trial(cell(stack, "baseline", workload, 1), way("b", [delay], 0.0))
        for stack, delay in (("none", 0.01), ("wireguard", 0.3))
        for workload in (CALL, "iperf3-udp:rate=50M")
    ]
    found = {one.stack: one.rating.median for one in calls(analyse(record(trials)), [CALL])}
    assert list(found) == ["none", "wireguard"] and found["none"] > found["wireguard"] + 10


def test_a_call_of_which_one_way_is_silent_has_the_least_rating() -> None:
    silent: Sample = ("loss", "ratio", 1.0, None, "a", "a-b")
    trials = [trial(cell("none", "baseline", CALL, repeat), [silent, *way("b", [0.01], 0.0)]) for repeat in range(1, 8)]
    (found,) = calls(analyse(record(trials)), [CALL])
    assert (found.rating.median, found.opinion.median, found.unplayed) == (0, 1, 1)
    [told, _] = lines([found])
    assert "MOS 1.00; one way silent, 100 % not played" in told


def test_the_scale_of_r_ends_at_0_and_silence_is_worse_than_a_call_that_is_heard_in_part() -> None:
    assert heard([0.7] * 100, 0.5).rating == 0
    silent: Sample = ("loss", "ratio", 1.0, None, "a", "a-b")
    late = [*way("a", [0.7] * 20, 0.5), *way("b", [0.7] * 20, 0.5)]
    trials = [
        trial(cell("gre", workload=CALL), [silent, *way("b", [0.03] * 20, 0.0)]),
        trial(cell("vxlan", workload=CALL), late),
    ]
    found = calls(analyse(record(trials)), [CALL])
    assert [one.rating.median for one in found] == [0, 0]
    assert [line.partition(":")[0] for line in lines(found)][:2] == ["vxlan", "gre"]


def test_a_trial_of_which_one_way_tells_no_delays_has_no_rating() -> None:
    untold: Sample = ("loss", "ratio", 0.5, None, "a", "a-b")
    one = trial(cell("none", "baseline", CALL, 1), [untold, *way("b", [0.01], 0.0)])
    assert calls(analyse(record([one])), [CALL]) == []


def test_a_trial_without_delays_has_no_rating() -> None:
    assert calls(analyse(record([trial(cell("none", "baseline", CALL, 1), [("loss", "ratio", 0.0)])])), [CALL]) == []
