"""What a tunnel at rest sends and computes: counters, and their differences."""

import math
import random
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fakes import Call, FakeEvents, FakeShell, captured, move_home, two_nodes
from tests.helpers.outputs import edited
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.options import resolve
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.shell import Result
from tunbench.runner.workload import Trial
from tunbench.runner.workloads import idle
from tunbench.runner.workloads.shared import node_counters
from tunbench.runner.workloads.shared.node_counters import Counters

BEFORE, AFTER = captured("idle-1.txt"), captured("idle-2.txt")
DAEMON = 50_666_488 - 50_330_330
"""Nanoseconds that the daemon computed between the two, in which it was asked nothing."""

HOLDER = 1_652_536 - 1_484_070


def test_the_counters_of_a_node() -> None:
    state = node_counters.parse(BEFORE, 2.0)
    assert state[:3] == (2.0, 70, 1)
    assert state.threads == {(1, 1): 1_484_070, (6, 6): 50_330_330, (8, 8): 1_281_137}


def test_what_a_node_sent_and_computed_meanwhile() -> None:
    samples = idle.rates([node_counters.parse(BEFORE, 0.0)], [node_counters.parse(AFTER, 32.0)])
    assert [one.metric for one in samples] == ["idle-rate", "idle-packets", "idle-cpu"]
    # The programs that looked, 8 and 13, are not there twice.
    assert [one.value for one in samples] == pytest.approx([8 * 564 / 32, 6 / 32, (DAEMON + HOLDER) / 1e9 / 32])


def test_both_ends_are_added() -> None:
    states = [[Counters(at, size, size // 100, {(1, 1): size}) for _ in "ab"] for at, size in ((0.0, 0), (10.0, 1000))]
    values = [one.value for one in idle.rates(states[0], states[1])]
    assert values == pytest.approx([1600, 2, 2e-7])


def test_threads_that_begin_count_from_nothing_and_processes_that_begin_do_not() -> None:
    before = Counters(0, 0, 0, {(5, 5): 100, (5, 6): 50})
    after = Counters(1, 0, 0, {(5, 5): 130, (5, 7): 9, (8, 8): 1000})
    assert node_counters.computed(before, after) == 39


@pytest.mark.parametrize("after", [Counters(1, 9, 5, {}), Counters(1, 10, 4, {}), Counters(0, 10, 5, {})])
def test_a_counter_or_a_clock_that_goes_backwards_has_failed(after: Counters) -> None:
    with pytest.raises(WorkloadFailed, match="went backwards"):
        idle.rates([Counters(0, 10, 5, {})], [after])


@pytest.mark.parametrize(
    "text",
    [
        *("", "grep: nothing\n", BEFORE.partition("/proc")[0], BEFORE.partition("\n")[2]),
        *(BEFORE + BEFORE, BEFORE.replace("schedstat:50330330", "schedstat:")),
    ],
)
def test_counters_that_are_not_there_have_failed(text: str) -> None:
    with pytest.raises(WorkloadFailed, match="the node's counters could not be read"):
        node_counters.parse(text, 0)


@given(seed=st.integers(0, 2**32))
def test_output_that_was_edited_gives_sound_values_or_has_failed(seed: int) -> None:
    dice = random.Random(seed)
    try:
        samples = idle.rates(
            [node_counters.parse(edited(BEFORE, dice), 0)], [node_counters.parse(edited(AFTER, dice), 60)]
        )
    except WorkloadFailed:
        return
    assert all(math.isfinite(one.value) and one.value >= 0 for one in samples)


def test_every_underlay_has_the_interface_that_is_looked_at() -> None:
    for underlay in PAIR_UNDERLAYS.values():
        assert {overlay.interface for overlay in underlay.endpoints.values()} == {node_counters.INTERFACE}


def executed(monkeypatch: pytest.MonkeyPatch, folder: Path, **given: str) -> tuple[Trial, FakeShell, FakeEvents]:
    move_home(monkeypatch, folder)
    clock, looks = count(0.0, 1.0), count()
    for module in (idle, node_counters):
        monkeypatch.setattr(module, "now", lambda: next(clock))

    def look(call: Call) -> Result:
        number = next(looks) // 2
        return Result(0, BEFORE.replace("tx_bytes:70", f"tx_bytes:{70 + 1000 * number}"), "")

    shell, events = FakeShell({"grep": look}), FakeEvents()
    client, server = two_nodes(shell, events)
    trial = Trial(resolve(idle.ABOUT.options, given, "idle"), client, server, PAIR_UNDERLAYS["ip"].endpoints)
    idle.execute(trial)
    return trial, shell, events


def test_each_minute_is_looked_at_and_nothing_is_sent_meanwhile(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trial, shell, events = executed(monkeypatch, tmp_path, duration="130")
    assert events.commands == [f"ip netns exec a sleep {step}" for step in (60, 60, 10)]
    assert {call.argv[0] for call in shell.calls} == {"sleep", "sh"}
    assert [call.argv[2] for call in shell.calls if call.argv[0] == "sh"] == [node_counters.READ_COUNTERS] * 8
    # The fake clock ticks once a look, so that two looks at a node are 2 s apart.
    rates = [(one.value, one.at) for one in trial.samples if one.metric == "idle-rate"]
    assert rates == [(8000, 1), (8000, 3), (8000, 5), (8000, None)]
    assert {one.metric for one in trial.samples} == set(idle.ABOUT.metrics)


def test_a_short_rest_is_one_step(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _, _, events = executed(monkeypatch, tmp_path, duration="10s")
    assert events.commands == ["ip netns exec a sleep 10"]
