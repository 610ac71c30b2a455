"""The search for the highest rate, and what iperf3 says of one."""

import json
import math
import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fakes import Answer, Begin, FakeEvents, FakeShell, captured, move_home, two_nodes
from tests.helpers.listener import hears, without_listener
from tests.helpers.outputs import edited, replaced
from tunbench.runner import invocation
from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.declare.options import resolve
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.shell import Result
from tunbench.runner.workload import Sample, Trial
from tunbench.runner.workloads import goodput
from tunbench.runner.workloads.goodput import Attempt, Search
from tunbench.runner.workloads.shared.arrivals import Heard
from tunbench.runner.workloads.shared.iperf import iperf3_report

NAMES = ("goodput-clean.json", "goodput-queue.json", "goodput-loss.json")
SEARCH = Search(lowest=2e6, highest=10e9, resolution=0.05)


def load(name: str) -> dict[str, Any]:
    return iperf3_report.load(captured(name))


def path_of(capacity: float, fastest: float = math.inf, loss: float = 0.0) -> Any:
    """A path that carries so many bit/s, a sender that gets no faster, and a loss at every rate."""

    def attempt(asked: float) -> Attempt:
        offered = min(asked, fastest)
        lost = max(loss, 1 - capacity / offered)
        return Attempt(asked, offered, offered * (1 - lost), lost)

    return attempt


@given(capacity=st.floats(2e6, 20e9), fastest=st.floats(20e6, 20e9))
def test_the_capacity_is_found_within_the_resolution(capacity: float, fastest: float) -> None:
    attempts: list[Attempt] = []
    goodput.run(SEARCH, 0.0, attempts, path_of(capacity, fastest))
    most = min(capacity, fastest, SEARCH.highest)
    assert most / (1 + SEARCH.resolution) * (1 - 1e-9) <= SEARCH.found(attempts, 0.0) <= most
    assert len(attempts) < goodput.MAX_TRIALS


@given(answers=st.lists(st.tuples(st.floats(0, 2), st.floats(0, 2), st.floats(0, 1)), min_size=12, max_size=12))
def test_whatever_is_measured_the_search_stays_within_its_range_and_ends(
    answers: list[tuple[float, float, float]],
) -> None:
    attempts: list[Attempt] = []
    waiting = iter(answers)

    def attempt(asked: float) -> Attempt:
        offered, arriving, loss = next(waiting)
        return Attempt(asked, offered * asked, arriving * asked, loss)

    for bound in (0.0, 0.005):
        goodput.run(SEARCH, bound, attempts, attempt)
    asked = [one.asked for one in attempts]
    assert asked[0] == SEARCH.highest
    assert all(SEARCH.lowest <= rate <= SEARCH.highest for rate in asked)
    assert len(set(asked)) == len(asked) <= goodput.MAX_TRIALS
    # What is told of the looser bound is no less, and no rate counts above one that was seen to fail.
    assert SEARCH.found(attempts, 0.005) >= SEARCH.found(attempts, 0.0) >= 0
    highest = max((one.asked for one in SEARCH.passing(attempts, 0.0)), default=0)
    assert all(one.asked >= highest for one in attempts if not SEARCH.passes(one, 0.0))


@given(capacity=st.floats(2e6, 20e9), tolerated=st.floats(0, 0.1))
def test_the_looser_bound_never_finds_less_and_uses_the_same_trials(capacity: float, tolerated: float) -> None:
    attempts: list[Attempt] = []
    goodput.run(SEARCH, 0.0, attempts, path_of(capacity))
    strict, first = SEARCH.found(attempts, 0.0), list(attempts)
    goodput.run(SEARCH, tolerated, attempts, path_of(capacity))
    assert attempts[: len(first)] == first
    assert SEARCH.found(attempts, tolerated) >= strict
    assert SEARCH.found(attempts, 0.0) >= strict


def test_what_the_sender_cannot_exceed_is_found_in_one_trial() -> None:
    attempts: list[Attempt] = []
    goodput.run(SEARCH, 0.0, attempts, path_of(1e12, fastest=394e6))
    assert [one.asked for one in attempts] == [10e9]
    assert SEARCH.found(attempts, 0.0) == 394e6


def test_a_path_that_always_loses_is_known_after_three_trials() -> None:
    attempts: list[Attempt] = []
    for bound in (0.0, 0.005):
        goodput.run(SEARCH, bound, attempts, path_of(100e6, 400e6, loss=0.025))
        assert SEARCH.found(attempts, bound) == 0
    assert [one.asked for one in attempts] == [10e9, 100e6, 2e6]


def test_the_rates_close_in_from_both_sides() -> None:
    attempts: list[Attempt] = []
    goodput.run(SEARCH, 0.0, attempts, path_of(97e6, fastest=388e6))
    asked = [round(one.asked / 1e6, 1) for one in attempts]
    assert asked == [10000.0, 97.0, 194.0, 137.2, 115.4, 105.8, 101.3]
    assert [SEARCH.passes(one, 0) for one in attempts] == [False, True, False, False, False, False, False]
    assert all(a > b for a, b in pairwise(asked[2:]))


def test_a_rate_that_fills_a_queue_does_not_pass() -> None:
    attempt = Attempt(asked=24e6, offered=24e6, arriving=19.4e6, loss=0)
    assert not SEARCH.passes(attempt, 0)
    assert SEARCH.passes(attempt._replace(arriving=23e6), 0)
    assert attempt._replace(arriving=23e6).goodput == 23e6


def test_a_clean_trial_of_iperf3() -> None:
    attempt = goodput.parse(load("goodput-clean.json"), 18e6)
    assert attempt.loss == 0
    assert attempt.offered == pytest.approx(18e6, rel=1e-3)
    assert attempt.arriving == pytest.approx(18e6, rel=2e-3)
    assert SEARCH.passes(attempt, 0)


def test_a_trial_of_iperf3_that_fills_a_queue() -> None:
    attempt = goodput.parse(load("goodput-queue.json"), 24e6)
    # 20 Mbit/s of frames that have 42 bytes of headers.
    assert attempt.arriving == pytest.approx(20e6 * 1300 / 1342, rel=2e-3)
    assert attempt.loss == 0
    assert not SEARCH.passes(attempt, 0)


def test_a_trial_of_iperf3_that_loses() -> None:
    attempt = goodput.parse(load("goodput-loss.json"), 40e6)
    assert attempt.loss == 985 / 3847
    assert attempt.offered == pytest.approx(40e6, rel=1e-3)
    assert attempt.arriving == pytest.approx(20e6 * 1300 / 1342, rel=2e-3)


def test_what_is_missing_at_the_end_is_lost_unless_it_was_heard() -> None:
    data = load("goodput-clean.json")
    data["server_output_json"]["end"]["sum"]["packets"] -= 86
    times([data["end"]["sum_received"]], bytes=1 - 86 / 1731, bits_per_second=1 - 86 / 1731)
    assert goodput.parse(data, 18e6).loss == 86 / 1731
    for last, loss in ((1731, 0), (1730, 1 / 1731)):
        heard = Heard(tail=[(7, number) for number in range(1600, last + 1)])
        assert goodput.parse(data, 18e6, heard).loss == loss


def test_nothing_that_arrives_passes_no_bound() -> None:
    data = load("goodput-clean.json")
    data["server_output_json"]["end"]["sum"]["packets"] = 0
    intervals = data["server_output_json"]["intervals"]
    for counted in (data["end"]["sum_received"], *(one["sum"] for one in intervals)):
        counted |= {"bytes": 0, "bits_per_second": 0}
    for interval in intervals:
        interval["streams"][0]["bytes"] = 0
    attempt = goodput.parse(data, 18e6)
    assert attempt.loss == 1
    assert not SEARCH.passes(attempt, 0.999)


@pytest.mark.parametrize(("name", "value"), [("packets", 1732), ("lost_packets", 1732)])
def test_more_than_was_sent_makes_no_sense(name: str, value: int) -> None:
    data = load("goodput-clean.json")
    data["server_output_json"]["end"]["sum"][name] = value
    with pytest.raises(WorkloadFailed, match="iperf3 sent 1731 datagrams"):
        goodput.parse(data, 18e6)


def test_a_rate_that_is_not_its_bytes_in_its_seconds_has_failed() -> None:
    data = load("goodput-clean.json")
    data["end"]["sum_sent"]["bits_per_second"] *= 100
    with pytest.raises(WorkloadFailed, match=r"iperf3 counted 2\.2503e\+06 B in 1\.00006 s as 1\.80012e\+09 bit/s"):
        goodput.parse(data, 18e6)


def times(sums: list[Any], **factors: float) -> None:
    for counted in sums:
        for name, factor in factors.items():
            counted[name] *= factor


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda data: times([one["sum"] for one in data["server_output_json"]["intervals"]], bytes=100),
            r"iperf3 counted \S+ B in \S+ s as \S+ bit/s at sum$",
        ),
        (
            lambda data: times(
                [two for one in data["server_output_json"]["intervals"] for two in (one["sum"], *one["streams"])],
                bytes=100,
                bits_per_second=100,
            ),
            r"iperf3 counted 2\.2503e\+08 B in the intervals of a test of 2\.2503e\+06 B",
        ),
        (
            lambda data: times([data["end"]["sum_sent"]], bytes=100, bits_per_second=100),
            r"iperf3 counted 2\.2503e\+06 B in the intervals of a test of 2\.2503e\+08 B",
        ),
        (
            lambda data: data["end"]["sum_sent"].update(packets=1730),
            r"iperf3 counted 2\.2503e\+06 B in 1730 datagrams of 1300 B",
        ),
        (
            lambda data: data["end"]["sum_sent"].update(packets=17310),
            r"iperf3 counted 2\.2503e\+06 B in 17310 datagrams of 1300 B",
        ),
        (
            lambda data: times([data["end"]["sum_sent"]], seconds=0.001, bits_per_second=1000),
            r"iperf3 has intervals until 1\.00006 s of a test of 0\.00100007 s",
        ),
    ],
)
def test_sums_that_contradict_each_other_have_failed(change: Callable[[Any], object], message: str) -> None:
    data = load("goodput-clean.json")
    change(data)
    with pytest.raises(WorkloadFailed, match=message):
        goodput.parse(data, 18e6)


def test_without_the_servers_report_it_has_failed() -> None:
    data = load("goodput-clean.json")
    del data["server_output_json"]
    with pytest.raises(WorkloadFailed, match=r"server_output_json"):
        goodput.parse(data, 18e6)


def sound(text: str) -> None:
    try:
        attempt = goodput.parse(iperf3_report.load(text), 18e6)
    except WorkloadFailed:
        return
    assert all(math.isfinite(value) and value >= 0 for value in (*attempt, attempt.goodput))
    assert attempt.loss <= 1


@given(seed=st.integers(0, 2**32))
def test_output_that_was_changed_gives_sound_values_or_has_failed(seed: int) -> None:
    dice = random.Random(seed)
    text = captured(dice.choice(NAMES))
    sound(edited(text, dice))
    sound(json.dumps(replaced(json.loads(text), dice)))


LISTENING = "LISTEN 0 4096 *:5201 *:*\n"
BEGINS: dict[str, Begin] = {**hears(), "iperf3": lambda *_: 0}
CLIENT = "ip netns exec a iperf3 --client 10.0.2.2 --port 5201 --json --udp"


def executed(monkeypatch: pytest.MonkeyPatch, folder: Path, answer: Answer, **given: str) -> tuple[Trial, list[str]]:
    move_home(monkeypatch, folder)
    shell, events = FakeShell({"ss -H": LISTENING, "--client": answer}, BEGINS), FakeEvents()
    client, server = two_nodes(shell, events)
    options = resolve(goodput.ABOUT.options, given, "goodput")
    trial = Trial(options, client, server, PAIR_UNDERLAYS["ip"].endpoints)
    try:
        goodput.execute(trial)
    finally:
        assert {process.ended for process in shell.started[1::2]} == {"stopped"}
    return trial, without_listener(events.commands)


def test_the_commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trial, commands = executed(monkeypatch, tmp_path, captured("goodput-clean.json"), highest="18M", duration="2")
    assert commands[0].startswith("ip netns exec b iperf3 --server --one-off --port 5201 --json --interval 0.2 >>")
    assert commands[2:] == [
        f"{CLIENT} --bitrate 18000000 --length 1300 --pacing-timer 100 --time 2 --get-server-output"
    ]
    assert list(trial.outputs) == ["iperf3-1.json", "arrivals-1.txt"]
    values = {one.metric: one.value for one in trial.samples}
    assert set(values) == set(goodput.ABOUT.metrics)
    assert values["goodput"] == values["goodput-lossy"] == pytest.approx(18e6, rel=2e-3)
    assert [one.metric for one in trial.samples if one.at is not None] == ["trial-rate", "trial-loss"]


@pytest.mark.parametrize(("frame", "length"), [("0", 1300), ("64", 18), ("1518", 1472)])
def test_a_frame_of_rfc_2544_says_how_long_a_datagram_is(
    frame: str, length: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trial, commands = executed(monkeypatch, tmp_path, captured("goodput-clean.json"), frame=frame)
    assert all(f"--length {length} " in command for command in commands if "--client" in command)
    found = {one.metric: one.value for one in trial.samples if one.at is None}
    assert found["packet-rate"] == found["goodput"] / (8 * length) > 0


def test_a_frame_that_has_no_room_for_a_datagram_is_told() -> None:
    options = resolve(goodput.ABOUT.options, {"frame": "64"}, "goodput")
    with pytest.raises(Unsupported, match="a frame of 64 B is too small for iperf3 over IPv6: give 82 B or more"):
        goodput.payload_of(options, 6)
    assert goodput.payload_of(resolve(goodput.ABOUT.options, {"frame": "128"}, "goodput"), 6) == 62


def test_the_size_of_a_datagram_is_said_once() -> None:
    with pytest.raises(ValueError, match="the options frame and length exclude each other"):
        invocation.read("goodput:frame=64,length=1300")


def test_a_path_that_loses_at_every_rate_has_a_goodput_of_zero(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trial, commands = executed(monkeypatch, tmp_path, captured("goodput-loss.json"), lowest="1M")
    assert trial.samples[-3:] == [Sample("goodput", 0), Sample("goodput-lossy", 0), Sample("packet-rate", 0)]
    rates = [text.split("--bitrate ")[1].split()[0] for text in commands if "--bitrate" in text]
    # What arrived of the first, and 100 datagrams at the least.
    assert rates == ["10000000000", "19373077", "1040000"]
    assert list(trial.outputs) == [name for one in "123" for name in (f"iperf3-{one}.json", f"arrivals-{one}.txt")]


FAILED = Result(1, captured("iperf3-connect.json"), "")


def trying(monkeypatch: pytest.MonkeyPatch, folder: Path, *results: Result) -> tuple[Trial, list[Result]]:
    move_home(monkeypatch, folder)
    left = list(results)
    shell = FakeShell({"ss -H": LISTENING, "--client": lambda call: left.pop(0)}, BEGINS)
    client, server = two_nodes(shell, FakeEvents())
    options = resolve(goodput.ABOUT.options, {"highest": "40M"}, "goodput")
    return Trial(options, client, server, PAIR_UNDERLAYS["ip"].endpoints), left


def test_what_was_tried_before_a_failure_is_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trial, left = trying(monkeypatch, tmp_path, Result(0, captured("goodput-loss.json"), ""), *[FAILED] * 3)
    with pytest.raises(WorkloadFailed, match="iperf3: "):
        goodput.execute(trial)
    assert left == []
    assert [one.metric for one in trial.samples] == ["trial-rate", "trial-loss"]
    assert list(trial.outputs) == ["iperf3-1.json", "arrivals-1.txt", "iperf3.json"]


def test_a_trial_that_does_not_begin_is_tried_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trial, left = trying(monkeypatch, tmp_path, FAILED, FAILED, Result(0, captured("goodput-clean.json"), ""))
    goodput.execute(trial)
    assert left == []
    assert list(trial.outputs) == ["iperf3-1.json", "arrivals-1.txt"]
