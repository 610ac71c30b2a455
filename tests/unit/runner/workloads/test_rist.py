"""Video over RIST: what a viewer gets of a numbered stream, beside what librist counts of it."""

import random
import re
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.helpers.fakes import Answer, Begin, Call, FakeEvents, FakeShell, captured, move_home, two_nodes
from tests.helpers.outputs import edited
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.options import resolve
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.trials import FAILURES
from tunbench.runner.workload import Sample, Trial
from tunbench.runner.workloads import rist
from tunbench.runner.workloads.rist import numbered_stream, report

COUNT = 1254
CONNECTED = "1795742522.6|0.0|[INFO] Connection Status changed for Peer 1, new status is 0, peer connected count is 1\n"


def viewer(name: str) -> str:
    return captured(f"rist-viewer-{name}.txt")


def receiver(name: str) -> str:
    return captured(f"rist-receiver-{name}.txt")


def totals(samples: list[Sample]) -> Mapping[str, float]:
    return {one.metric: one.value for one in samples if one.at is None}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def test_what_is_recovered_in_time_a_viewer_gets_and_librist_does_not_count() -> None:
    assert report.sent(captured("rist-sent-clean.txt")) == COUNT
    assert totals(report.of_viewer(viewer("lossy"), COUNT)) == {"delivered": 1.0}
    assert totals(report.of_receiver(receiver("lossy"), COUNT)) == {
        "quality": pytest.approx(1253 / 1294),
        "recovered": 41,
        "unrecovered": 0,
        "retries": 42,
    }, "one of 1254 is not counted, and 41 of them twice"


def test_what_came_too_late_a_viewer_does_not_get() -> None:
    assert totals(report.of_viewer(viewer("heavy"), COUNT)) == {"delivered": 1160 / COUNT}


def test_a_counter_that_ran_below_0_is_not_told() -> None:
    assert '"lost":65436' in receiver("heavy")
    assert totals(report.of_receiver(receiver("heavy"), COUNT)) == {
        "quality": pytest.approx(1167 / 1647),
        "recovered": 357,
        "retries": 694,
    }


def test_every_second_has_its_quality_and_its_round_trip() -> None:
    samples = report.of_receiver(receiver("clean"), COUNT)
    series = {one.at: one.value for one in samples if one.metric == "quality" and one.at is not None}
    assert len(series) >= 4 and set(series.values()) == {1.0}, "seconds in which nothing came have none"
    assert all(0 <= one.value < 1 for one in samples if one.metric == "rtt")


def test_a_stream_of_which_nothing_came_is_not_delivered() -> None:
    assert totals(report.of_viewer(viewer("nothing"), 940)) == {"delivered": 0}
    assert report.of_receiver("[INFO] Starting ristreceiver\n", 940) == []


@pytest.mark.parametrize("text", ["", "ready\n", "ready\ngot 1..3\nend 3 0 0", viewer("clean") + "end 1 0 0 0\n"])
def test_a_viewer_that_was_cut_off_has_failed(text: str) -> None:
    with pytest.raises(WorkloadFailed, match="did not come to its end"):
        report.of_viewer(text, COUNT)


@pytest.mark.parametrize(
    "text",
    [
        "ready\ngot 1..1255\nend 1255 0 0 0\n",
        "ready\ngot 1..3\nend 4 0 0 0\n",
        "ready\ngot 3 1\nend 2 0 0 0\n",
        "ready\ngot 0..3\nend 4 0 0 0\n",
        "ready\ngot 5..3\nend 0 0 0 0\n",
    ],
)
def test_datagrams_that_were_never_sent_are_no_result(text: str) -> None:
    with pytest.raises(WorkloadFailed, match="the viewer tells of"):
        report.of_viewer(text, COUNT)


@pytest.mark.parametrize("text", ["", "sent\n", "sent 0 5\n", "sent 3 5\nTraceback\n"])
def test_a_sender_that_did_not_end_has_failed(text: str) -> None:
    with pytest.raises(WorkloadFailed, match="did not come to its end"):
        report.sent(text)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (r'"quality":9\d\.\d+', '"quality":55.15', "tells a quality of 55.15 % with"),
        (r'"quality":9\d\.\d+', '"quality":955', "tells a quality of 955 %"),
        (r'"received":31\d', '"received":-1', "no sound number at received"),
        (r'"peers":', '"pears":', "tells of no peers"),
        (r'"rtt":\d+', '"rtt":99999', "no sound number at rtt"),
        (r'"receiver-stats":', '"receiver-stats"', "printed no JSON"),
        (r"\[INFO\] \{", "[INFO] ", "statistics that are torn"),
        (r'"missing":[1-9]\d*', '"missing":0', "tells a quality|0 missing and"),
        (r"^17", "16", "not in the order of time"),
    ],
)
def test_statistics_that_contradict_themselves_have_failed(old: str, new: str, message: str) -> None:
    lines = receiver("lossy").splitlines(keepends=True)
    at = max(number for number, line in enumerate(lines) if "receiver-stats" in line and re.search(old, line))
    lines[at] = re.sub(old, new, lines[at], count=1)
    with pytest.raises(WorkloadFailed, match=message):
        report.of_receiver("".join(lines), COUNT)


@settings(max_examples=50)
@given(seed=st.integers(0, 2**32))
def test_what_was_edited_has_failed_or_delivers_no_more_than_was_sent(seed: int) -> None:
    dice = random.Random(seed)
    for parse, text in ((report.of_viewer, viewer("heavy")), (report.of_receiver, receiver("lossy"))):
        try:
            found = totals(parse(edited(text, dice), COUNT))
        except FAILURES:
            continue
        assert all(0 <= found.get(name, 0) <= 1 for name in ("delivered", "quality"))
        assert found.get("recovered", 0) <= COUNT


NUMBERS = st.sets(st.integers(1, 300))


@given(numbers=NUMBERS)
def test_what_the_viewer_tells_is_what_it_got(numbers: set[int]) -> None:
    text = f"ready\n{' '.join(['got', *numbered_stream.spans(sorted(numbers))])}\nend {len(numbers)} 0 0 0\n"
    assert totals(report.of_viewer(text, 300)) == {"delivered": len(numbers) / 300}


@given(number=st.integers(1, 2**32 - 1), at=st.integers(0, numbered_stream.SIZE - 1), other=st.integers(1, 255))
def test_a_datagram_has_its_number_and_one_that_is_damaged_has_none(number: int, at: int, other: int) -> None:
    data = numbered_stream.datagram(number)
    assert len(data) == 1316 and {data[at] for at in range(0, 1316, 188)} == {0x47}
    counters = [data[at + 3] & 15 for at in range(0, 1316, 188)]
    assert [(one + 1) & 15 for one in counters[:-1]] == counters[1:]
    assert numbered_stream.number_of(data) == number
    damaged = bytearray(data)
    damaged[at] ^= other
    assert numbered_stream.number_of(bytes(damaged)) == 0
    assert numbered_stream.number_of(data[:-1]) == 0


def test_the_continuity_counters_go_on_from_datagram_to_datagram() -> None:
    for number in (1, 7, 2**32 - 2):
        last, first = numbered_stream.datagram(number)[-188 + 3] & 15, numbered_stream.datagram(number + 1)[3] & 15
        assert (last + 1) & 15 == first


def test_the_program_hears_what_it_sends_and_what_it_did_not(tmp_path: Path) -> None:
    stop, port = tmp_path / "stop", "42999"
    argv = [sys.executable, "-I", "-S", str(numbered_stream.__file__)]
    hears = subprocess.Popen([*argv, "receive", port, str(stop)], stdout=subprocess.PIPE, text=True)
    assert hears.stdout and hears.stdout.readline() == "ready\n"
    told = subprocess.run([*argv, "send", port, "3.3e6", "0.05"], capture_output=True, text=True)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for number in (3, 3, 20, 0, 0):
            data = numbered_stream.datagram(number) if number else b"x"
            stranger.sendto(data, ("127.0.0.1", int(port)))
    time.sleep(0.3)
    stop.touch()
    rest, _ = hears.communicate(timeout=10)
    count = report.sent(told.stdout)
    assert count == round(0.05 * 3.3e6 / (8 * 1316))
    assert rest == f"got 1..{count} 20\nend {count + 5} 2 2 2\n"
    with pytest.raises(WorkloadFailed, match="never sent"):
        report.of_viewer(f"ready\n{rest}", count)


def trial(
    got: str, counted: str, answers: dict[str, Answer] | None = None, connected: str = CONNECTED, ended: str = ""
) -> tuple[Trial, FakeShell]:
    def writes(text: str, name: str = "") -> Begin:
        def begin(call: Call, log: Path) -> int | None:
            log.write_text(text)
            return 1 if name and name == ended else None

        return begin

    begins = {
        "ristreceiver": writes(counted, "ristreceiver"),
        "receive": writes(got),
        "ristsender": writes(connected, "ristsender"),
    }
    usual: dict[str, Answer] = {"ss -Hlun": "UNCONN 0 0 *:40052\n", " send ": f"sent {COUNT} 4000000000\n"}
    shell = FakeShell({**(answers or {}), **usual}, begins)
    client, server = two_nodes(shell, FakeEvents())
    return Trial(resolve(rist.ABOUT.options, {}, "rist"), client, server, PAIR_UNDERLAYS["ip"].endpoints), shell


def test_a_trial_has_all_that_is_measured() -> None:
    done, shell = trial(viewer("lossy"), receiver("lossy"))
    rist.execute(done)
    assert {one.metric for one in done.samples} == set(rist.ABOUT.metrics)
    listening, sending = (one.call.text for one in shell.started if "rist" in one.call.argv[0])
    assert "-i 'rist://@10.0.2.2:40052?buffer=1000' -o udp://127.0.0.1:42052" in listening
    assert "-i udp://@127.0.0.1:41052 -o 'rist://10.0.2.2:40052?buffer=1000'" in sending
    assert all(one.ended == "stopped" for one in shell.started)


def test_a_stream_that_never_starts_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rist, "START_TIMEOUT", 0.05)
    done, shell = trial(viewer("nothing"), "", connected=captured("rist-sender-unanswered.txt"))
    with pytest.raises(WorkloadFailed, match="the stream did not start: no receiver answered"):
        rist.execute(done)
    assert "Starting in URL connect mode" in done.outputs["ristsender.txt"] and not done.samples
    assert all(one.ended == "stopped" for one in shell.started)


def test_a_receiver_that_died_is_told_with_what_was_measured() -> None:
    done, _ = trial(viewer("killed"), receiver("killed"), ended="ristreceiver")
    with pytest.raises(WorkloadFailed, match=r"^ristreceiver ended before the stream did"):
        rist.execute(done)
    assert totals(done.samples)["delivered"] == pytest.approx(323 / COUNT)
    assert totals(done.samples)["quality"] == 1.0


def cut(text: str) -> str:
    """It up to the middle of its last line of statistics."""
    return text[: text.rindex('"missing"')]


@pytest.mark.parametrize(
    ("ended", "reason"),
    [
        ("ristreceiver", "^ristreceiver ended before the stream did: '.*\"dropped_full\":0,'$"),
        ("", "ristreceiver printed no JSON"),
    ],
)
def test_a_line_of_statistics_that_was_cut_takes_nothing_from_the_viewer(ended: str, reason: str) -> None:
    done, _ = trial(viewer("killed"), cut(receiver("killed")), ended=ended)
    with pytest.raises(WorkloadFailed, match=reason):
        rist.execute(done)
    assert done.samples == [Sample("delivered", 323 / COUNT)]


def test_a_stream_of_which_nothing_arrives_has_failed() -> None:
    done, _ = trial(viewer("nothing"), "")
    with pytest.raises(WorkloadFailed, match=r"^nothing of the stream arrived, of 1254 datagrams of 1316 B$"):
        rist.execute(done)
    assert totals(done.samples) == {"delivered": 0}
