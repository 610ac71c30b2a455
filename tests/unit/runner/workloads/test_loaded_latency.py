"""A load, and round trips beside it: what is told of the load, what it adds to them, and the commands."""

import json
import math
import random
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fakes import Answer, Begin, Call, FakeEvents, FakeShell, captured, move_home, two_nodes
from tests.helpers.outputs import edited, replaced
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.options import resolve
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.shell import Result
from tunbench.runner.workload import Trial
from tunbench.runner.workloads import loaded_latency

PHASES = ("up", "down", "both")
CLIENTS = {phase: captured(f"loaded-{phase}-client.json") for phase in PHASES}
SERVERS = {phase: captured(f"loaded-{phase}-server.json") for phase in PHASES}


@pytest.mark.parametrize(("text", "rate"), [(SERVERS["up"], 19.1e6), (CLIENTS["down"], 19.1e6)])
def test_the_load_is_what_was_received_after_the_ramp(text: str, rate: float) -> None:
    intervals = loaded_latency.parse(text)
    assert len({one.start for one in intervals}) == len(intervals)
    assert loaded_latency.throughput(intervals, 0.5) == pytest.approx(rate, rel=0.05)


@pytest.mark.parametrize("text", [CLIENTS["up"], SERVERS["down"]])
def test_who_only_sends_received_nothing(text: str) -> None:
    assert loaded_latency.parse(text) == []
    with pytest.raises(WorkloadFailed, match=r"iperf3 told nothing of its last 0\.5 s"):
        loaded_latency.throughput(loaded_latency.parse(text), 0.5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda one: one["sum"].update(bytes=1000 * one["sum"]["bytes"]), r"as \S+ bit/s at sum$"),
        (lambda one: one["sum"].update(seconds=one["sum"]["seconds"] / 100), r"as \S+ bit/s at sum$"),
        (
            lambda one: one["sum"].update(
                seconds=one["sum"]["seconds"] / 100, bits_per_second=one["sum"]["bits_per_second"] * 100
            ),
            r"iperf3 has an interval of 0\.001\S* s from 0 to 0\.100067 s",
        ),
        (
            lambda one: one["sum"].update(start=one["sum"]["start"] / 2),
            r"iperf3 has an interval of .* behind one until",
        ),
        (lambda one: one["streams"][0].update(bytes=0), r"iperf3 counted \S+ B, and 0 B of its streams"),
        (
            lambda one: one.update(sum_bidir_reverse=one["sum"]),
            "what it received: sum and sum_bidir_reverse",
        ),
    ],
)
def test_intervals_of_a_load_that_contradict_themselves_have_failed(
    change: Callable[[Any], object], message: str
) -> None:
    data = json.loads(SERVERS["up"])
    for interval in data["intervals"]:
        change(interval)
    with pytest.raises(WorkloadFailed, match=message):
        loaded_latency.parse(json.dumps(data))


def test_a_load_that_was_received_in_some_intervals_has_failed() -> None:
    data = json.loads(SERVERS["up"])
    data["intervals"][3]["sum"]["sender"] = True
    with pytest.raises(WorkloadFailed, match=r"iperf3 does not say in each interval what it received: sum$"):
        loaded_latency.parse(json.dumps(data))


def test_only_the_last_seconds_count() -> None:
    intervals = [loaded_latency.Interval(start, 0.5, amount) for start, amount in ((0, 10), (0.5, 100), (1, 200))]
    assert loaded_latency.throughput(intervals, 1) == 8 * 300
    assert loaded_latency.throughput(intervals, 60) == pytest.approx(8 * 310 / 1.5)


def test_with_both_ways_each_end_tells_what_it_received() -> None:
    down, up = (loaded_latency.throughput(loaded_latency.parse(one["both"]), 0.5) for one in (CLIENTS, SERVERS))
    # 20 Mbit/s of frames each way, of which the acknowledgements of the other take some.
    assert 15e6 < up < 20e6 and 15e6 < down < 20e6


def test_an_interval_that_is_told_twice_counts_once() -> None:
    data = json.loads(SERVERS["up"])
    starts = [one["sum"]["start"] for one in data["intervals"]]
    assert len(set(starts)) < len(starts)
    assert [one.start for one in loaded_latency.parse(SERVERS["up"])] == sorted(set(starts))


@given(seed=st.integers(0, 2**32))
def test_a_load_that_was_changed_is_sound_or_has_failed(seed: int) -> None:
    dice = random.Random(seed)
    text = dice.choice([*CLIENTS.values(), *SERVERS.values()])
    for changed in (edited(text, dice), json.dumps(replaced(json.loads(text), dice))):
        try:
            rate = loaded_latency.throughput(loaded_latency.parse(changed), 0.5)
        except WorkloadFailed:
            continue
        assert math.isfinite(rate) and rate >= 0


def test_what_a_load_adds() -> None:
    idle, loaded = [0.001, 0.002, 0.009], [0.010, *[0.020] * 17, 0.030, 5.0]
    samples = loaded_latency.compared("up", idle, loaded)
    assert [one.metric for one in samples] == ["increase-up", "rpm-up"]
    # The longest twentieth does not count: here 5 s.
    assert [one.value for one in samples] == pytest.approx([0.018, 60 / statistics.fmean(loaded[:-1])])


@pytest.mark.parametrize(("idle", "loaded", "words"), [([], [0.1], "without load"), ([0.1], [], "beside the load")])
def test_where_nothing_was_answered_there_is_nothing_to_compare(
    idle: list[float], loaded: list[float], words: str
) -> None:
    with pytest.raises(WorkloadFailed, match=f"no request was answered {words}"):
        loaded_latency.compared("up", idle, loaded)


def prints(texts: dict[str, str]) -> Begin:
    def begin(call: Call, log: Path) -> None:
        log.write_text(texts[log.stem.removeprefix("iperf3-")])

    return begin


def looking(
    folder: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer, begins: dict[str, Begin], **given: str
) -> tuple[Trial, FakeShell, FakeEvents]:
    move_home(monkeypatch, folder)
    answers: dict[str, Answer] = {"ss -Hl": "LISTEN\n", "irtt client": answer}
    usual = {"iperf3 --server": prints(SERVERS), "iperf3 --client": prints(CLIENTS)}
    shell, events = FakeShell(answers, usual | begins), FakeEvents()
    client, server = two_nodes(shell, events)
    options = resolve(loaded_latency.ABOUT.options, given, "loaded-latency")
    overlays = {name: Overlay("wg", f"fd10:0::{number}", 64, 1400) for number, name in enumerate("ab", start=1)}
    trial = Trial(options, client, server, overlays if given.get("flows") == "1" else PAIR_UNDERLAYS["ip"].endpoints)
    return trial, shell, events


def test_the_commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trial, shell, events = looking(tmp_path, monkeypatch, captured("irtt-clean.json"), {})
    loaded_latency.execute(trial)
    log = "/iperf3-up.log 2>&1 &"
    commands = [text.replace(str(tmp_path), "") for text in events.commands]
    irtts = "ip netns exec a irtt client -i 0.01s -d 2s --clock=monotonic -Q -o - 10.0.2.2:2112"
    told = "--port 5201 --json --interval 0.1"
    assert commands[:10] == [
        "ip netns exec b irtt server -b 10.0.2.2:2112 -i 0 >>/b/irtt.log 2>&1 &",
        "until ip netns exec b ss -Hlun 'sport = :2112' | grep -q .; do sleep 0.02; done",
        irtts,
        f"ip netns exec b iperf3 --server --one-off {told} >>/b{log}",
        "until ip netns exec b ss -Hltn 'sport = :5201' | grep -q .; do sleep 0.02; done",
        f"ip netns exec a iperf3 --client 10.0.2.2 {told} --time 53 --parallel 4 >>/a{log}",
        "until ip netns exec b sh -c 'test $(ss -Htn state established sport = :5201 | wc -l) -gt 4'"
        " >/dev/null 2>&1; do sleep 0.02; done",
        "ip netns exec a sleep 1",
        irtts,
        "kill $!",
    ]
    assert [" ".join(text.split()[9:]) for text in commands if "--parallel" in text] == [
        f"{told.partition('5201 ')[2]} --time 53 --parallel 4{way} >>/a/iperf3-{phase}.log 2>&1 &"
        for phase, way in (("up", ""), ("down", " --reverse"), ("both", " --bidir"))
    ]
    assert len(shell.started) == 7
    assert {process.ended for process in shell.started} == {"stopped"}
    assert {one.metric for one in trial.samples} == set(loaded_latency.ABOUT.metrics)
    assert [one.at is not None for one in trial.samples if one.metric.startswith("rtt-")] == [True] * 20
    assert list(trial.outputs) == ["irtt-idle.json", "irtt-up.json", "irtt-down.json", "irtt-both.json"]
    assert json.loads(trial.outputs["irtt-up.json"]) == json.loads(captured("irtt-clean.json"))


def test_one_direction_over_ipv6(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trial, _, events = looking(tmp_path, monkeypatch, captured("irtt-clean.json"), {}, direction="down", flows="1")
    loaded_latency.execute(trial)
    assert next(text for text in events.commands if "irtt client" in text).endswith("-o - '[fd10:0::2]:2112'")
    assert [text for text in events.commands if "iperf3 --client fd10:0::2" in text]
    assert {one.metric.partition("-")[2] for one in trial.samples} == {"idle", "down"}


def refused(call: Call, log: Path) -> int:
    log.write_text(captured("iperf3-connect.json"))
    return 1


@pytest.mark.parametrize(
    ("established", "words"), [(0, "iperf3 ended before irtt"), (1, "iperf3 did not connect its flows")]
)
def test_a_load_that_ends_has_failed(
    established: int, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trial, shell, _ = looking(tmp_path, monkeypatch, captured("irtt-clean.json"), {"iperf3 --client": refused})
    shell.answers["established"] = Result(established, "", "")
    with pytest.raises(WorkloadFailed, match=f"(?s){words}: .*Connection refused"):
        loaded_latency.execute(trial)
    assert {process.ended for process in shell.started} == {"stopped"}
    # What was measured without load is kept.
    assert "loss-idle" in {one.metric for one in trial.samples}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Result(1, "", captured("irtt-refused.txt")), "irtt ended with status 1: .*connection refused"),
        (Result(None, "{", ""), "irtt did not end within 30 s after the test's duration"),
    ],
)
def test_a_client_that_fails_has_failed(
    answer: Result, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trial, shell, _ = looking(tmp_path, monkeypatch, answer, {})
    with pytest.raises(WorkloadFailed, match=words):
        loaded_latency.execute(trial)
    assert [process.ended for process in shell.started] == ["stopped"]
    assert list(trial.outputs) == ["irtt-idle.json"]
