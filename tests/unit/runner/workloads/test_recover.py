"""The workloads that take the tunnel down: what the probe tells, and what is made of it."""

import math
import random
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fakes import FakeEvents, FakeShell, captured, move_home
from tests.helpers.outputs import NUMBERS, edited
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.node.node import Node
from tunbench.runner.workload import Sample
from tunbench.runner.workloads import connect, recover
from tunbench.runner.workloads.recover import Event
from tunbench.runner.workloads.shared import blocked_time, probe_stream

CONNECT, LINK, RESTART, SILENT = (captured(f"probe-{name}.txt") for name in ("connect", "link", "restart", "silent"))

CUT = Event(3.2055, 4.2245, 1.0102)
"""The outage in the captured output of a link: when the commands began and were over."""


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def prober(folder: Path) -> Node:
    return Node(folder.name, FakeShell(), FakeEvents())


def test_a_start_lasts_until_the_first_answer() -> None:
    [gap] = blocked_time.parse(CONNECT).gaps
    sample = connect.parse(CONNECT, 2.6, 2.5)
    assert (sample.metric, sample.node) == ("connect", "")
    assert (sample.value, sample.at) == pytest.approx((gap.end - 2.6, 0.1))


@pytest.mark.parametrize("line", ["gap", "alive ", "alive 5", "gap 1 2", "alive 1 x", "alive 1 -2"])
def test_a_line_without_its_moments_has_failed(line: str, tmp_path: Path) -> None:
    log = tmp_path / "probe.log"
    log.write_text(f"ready\nbegin 1\n{line}\n")
    with pytest.raises(WorkloadFailed, match=f"the probe printed '{line}'"):
        blocked_time.answered_since(prober(tmp_path), log, 0)


@pytest.mark.parametrize(("line", "answered"), [("gap 1 3 2", True), ("alive 3 2", True), ("end 3 2 1", False)])
def test_an_answer_is_to_a_request_after_a_moment(line: str, answered: bool, tmp_path: Path) -> None:
    log = tmp_path / "probe.log"
    log.write_text(f"ready\nbegin 1\n{line}\n")
    node = prober(tmp_path)
    assert [blocked_time.answered_since(node, log, moment) for moment in (1e-9, 2e-9)] == [answered, False]


def test_a_start_without_an_answer_has_failed() -> None:
    with pytest.raises(WorkloadFailed, match="no probe was answered after the start"):
        connect.parse(SILENT, 1.0, 0.0)


def test_an_answer_from_before_the_start_is_none() -> None:
    with pytest.raises(WorkloadFailed, match="no probe was answered after the start"):
        connect.parse(CONNECT, 3.0, 0.0)


def test_a_cut_link_blocks_as_long_as_it_was_down() -> None:
    samples = {one.metric: one for one in recover.parse(LINK, CUT, 3.0, 0.001)}
    # From the captured line `gap 3212483691 4224505073`, less the interval.
    assert samples["blocked"].value == pytest.approx(4.224505073 - 3.212483691 - 0.001)
    assert samples["recovery"].value == pytest.approx(samples["blocked"].value - 1.0102)
    assert samples["outage"].value == 1.0102
    assert samples["lost"].value == 1609 - 598
    assert [one.at for one in samples.values()] == pytest.approx([0.2055] * 4)


def test_no_recovery_is_shorter_than_nothing() -> None:
    samples = {one.metric: one.value for one in recover.parse(LINK, CUT._replace(outage=1.02), 3.0, 0.001)}
    assert samples["recovery"] == 0


def test_only_a_cut_link_has_an_outage() -> None:
    samples = recover.parse(RESTART, Event(5.55, 5.6), 5.0, 0.001)
    assert [one.metric for one in samples] == ["blocked", "lost"]
    assert samples[0].value == pytest.approx(20.790919312 - 5.553091247 - 0.001)


def test_what_was_never_interrupted_was_not_blocked() -> None:
    assert recover.parse(CONNECT + "", Event(2.76, 2.766), 2.0, 0.001)[0].value == pytest.approx(
        2.769814557 - 2.766663670 - 0.001
    )
    seen = blocked_time.parse(LINK)
    assert blocked_time.blocked(seen, 4.3, 0.001) == 0


def test_no_time_without_answers_is_shorter_than_nothing() -> None:
    seen = blocked_time.parse("ready\nbegin 5000000\ngap 5000000 5400000 5100000\nend 1 1 1\n")
    assert blocked_time.blocked(seen, 0.005, 0.001) == 0


def test_who_did_not_recover_has_failed() -> None:
    with pytest.raises(WorkloadFailed, match="no probe was answered within 60 s after the event"):
        recover.parse(LINK, Event(3.2, 5.0), 3.0, 0.001)
    with pytest.raises(WorkloadFailed, match="no probe was answered within 60 s after the event"):
        recover.parse(SILENT, Event(1.5, 1.6), 1.0, 0.001)


@pytest.mark.parametrize("text", [CONNECT, LINK, RESTART, SILENT])
def test_what_the_probe_told_was_torn(text: str) -> None:
    for end in range(0, len(text) - 1, 1 if len(text) < 2000 else 37):
        with pytest.raises(WorkloadFailed):
            blocked_time.parse(text[:end])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no beginning or no end"),
        ("Traceback (most recent call last):\n", "the probe printed 'Traceback"),
        ("ready\nbegin 1\nready\nend 1 0 1\n", "begins or ends twice"),
        ("ready\nbegin 5\ngap 1 7 6\nend 1 1 1\n", "out of order: gap 1 7 6"),
        ("ready\nbegin 5\ngap 5 7 8\nend 1 1 1\n", "out of order: gap 5 7 8"),
        ("ready\nbegin 5\ngap 5 7 6\ngap 6 9 8\nend 2 2 1\n", "out of order: gap 6 9 8"),
        ("ready\nbegin 5\ngap 5 7 6\nend 1 2 1\n", "2 answers to 1 requests"),
        ("ready\nbegin 5\ngap 5 7 6\nend 1 0 1\n", "0 answers to 1 requests"),
        ("ready\nbegin 5\nend 1 1 1\n", "1 answers to 1 requests"),
        ("ready\nbegin 5\ngap 6 8 7\nend 1 1 1\n", "ends no gap from its beginning: gap 6"),
        ("ready\nbegin 5\nalive 8 7\nend 1 1 1\n", "ends no gap from its beginning: alive 8"),
    ],
)
def test_what_makes_no_sense_has_failed(text: str, message: str) -> None:
    with pytest.raises(WorkloadFailed, match=message):
        blocked_time.parse(text)


@pytest.mark.parametrize("text", [LINK, RESTART])
def test_a_line_of_the_probe_that_is_lost_is_missed(text: str) -> None:
    lines = text.splitlines(keepends=True)
    event = Event(5.55, 5.6) if text == RESTART else CUT
    # What comes behind the last two answers of which it told cannot be missed.
    for lost in range(2, len(lines) - 2):
        with pytest.raises(WorkloadFailed, match=r"ends no gap from its beginning|told neither"):
            recover.parse("".join(lines[:lost] + lines[lost + 1 :]), event, 0.0, 0.001)


@given(step=st.integers(500_000, 1_000_000_000), waits=st.lists(st.integers(0, 2_000_000_000), max_size=200))
def test_the_probe_is_never_silent_for_longer_than_it_can_be(step: int, waits: list[int]) -> None:
    moment = 5_000_000_000
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as told:
        record = probe_stream.Record(step, moment)
        record.tell(moment, "begin", moment)
        for number, wait in enumerate(waits):
            moment += wait
            patch.setattr("time.monotonic_ns", lambda moment=moment: moment)
            record.add(number, moment)
    seen = blocked_time.parse(f"ready\n{told.getvalue()}end {len(waits)} {len(waits)} 1\n")
    blocked_time.check_signs(seen, step * 1e-9)


def ending(requests: int, replies: int) -> str:
    """The captured output of a link that was cut, with other counts."""
    return LINK.replace("end 1609 598 ", f"end {requests} {replies} ")


@pytest.mark.parametrize(
    ("requests", "replies", "message"),
    [
        (1_609_000_000_000_000, 598, r"counted 1609000000000000 requests, one each 0\.001 s, in 1\.54718 s"),
        (100_000, 598, r"counted 100000 requests, one each 0\.001 s"),
        (1609, 1, "counted 1 answers to 1609 requests, and tells of 7"),
        (1609, 6, "counted 6 answers to 1609 requests, and tells of 7"),
    ],
)
def test_counts_that_contradict_what_was_told_have_failed(requests: int, replies: int, message: str) -> None:
    with pytest.raises(WorkloadFailed, match=message):
        recover.parse(ending(requests, replies), CUT, 3.0, 0.001)


@pytest.mark.parametrize(("requests", "replies"), [(60_000, 7), (1609, 1609)])
def test_requests_may_go_on_unanswered_or_be_answered_late(requests: int, replies: int) -> None:
    # Over TCP what was sent in the gap is answered when it is over.
    assert recover.parse(ending(requests, replies), CUT, 3.0, 0.001)


def test_an_answer_may_come_twice_and_behind_a_later_one() -> None:
    text = "ready\nbegin 1000\ngap 1000 9000 7000\ngap 9000 20000 5000\ngap 20000 30000 5000\nend 9 2 1\n"
    assert blocked_time.parse(text).replies == 2


@pytest.mark.parametrize("number", NUMBERS)
def test_every_number_may_be_anything(number: str) -> None:
    for text in (CONNECT, LINK):
        for found in re.finditer(r"\d+", text):
            changed = text[: found.start()] + number + text[found.end() :]
            for samples in (_of_a_start(changed), _of_an_event(changed)):
                assert all(0 <= one.value < 1e12 for one in samples)


@given(seed=st.integers(0, 2**32))
def test_what_was_edited_gives_sound_values_or_has_failed(seed: int) -> None:
    dice = random.Random(seed)
    text = edited(dice.choice([CONNECT, LINK, RESTART, SILENT]), dice)
    for samples in (_of_a_start(text), _of_an_event(text)):
        assert all(math.isfinite(one.value) and one.value >= 0 for one in samples)


def _of_a_start(text: str) -> list[Sample]:
    try:
        return [connect.parse(text, 2.6, 2.5)]
    except WorkloadFailed:
        return []


def _of_an_event(text: str) -> list[Sample]:
    try:
        return recover.parse(text, CUT, 3.0, 0.001)
    except WorkloadFailed:
        return []


@pytest.mark.parametrize("family", [4, 6])
def test_a_request_is_known_again_by_its_reply(family: int) -> None:
    request = probe_stream.request(family, 7, 70_000, 123_456_789)
    assert len(request) == 64
    head = bytes([0x45]) + bytes(19) if family == 4 else b""
    kind = probe_stream.ECHOES[family][2]
    assert probe_stream.answer(family, 7, head + bytes([kind]) + request[1:]) == (70_000, 123_456_789)
    assert probe_stream.answer(family, 8, head + bytes([kind]) + request[1:]) is None
    assert probe_stream.answer(family, 7, head + request) is None
    assert probe_stream.answer(family, 7, head + bytes([kind]) + request[1:-1]) is None


def test_the_checksum_over_a_request_comes_out_even() -> None:
    # RFC 1071, section 1: the one's complement sum over all, the checksum among it, is all ones.
    for number in (1, 255, 65_535, 70_000):
        packet = probe_stream.request(4, 0xBEEF, number, 2**40 + 12345)
        total = sum(int.from_bytes(packet[at : at + 2], "big") for at in range(0, len(packet), 2))
        while total >> 16:
            total = (total & 0xFFFF) + (total >> 16)
        assert total == 0xFFFF


def test_a_gap_and_a_sign_of_life_are_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    # Two intervals in time; a gap of five; a tenth of a second later a sign of life; then nothing is told.
    moments = iter([1_000_000, 2_000_000, 7_000_000, *range(8_000_000, 109_000_000, 1_000_000)])
    monkeypatch.setattr("time.monotonic_ns", lambda: next(moments))
    record = probe_stream.Record(1_000_000, 0)
    for number in range(1, 105):
        record.add(number, number)
    assert capsys.readouterr().out.splitlines() == ["gap 0 1000000 1", "gap 2000000 7000000 3", "alive 107000000 103"]
    assert len(record.answered) == 104


def test_a_return_is_counted_from_the_beginning_of_the_event() -> None:
    text = LINK
    [sample] = [one for one in recover.parse(text, CUT._replace(returned=4.5), 3.0, 0.001) if one.metric == "return"]
    assert sample.value == pytest.approx(4.5 - CUT.began)
    assert not [one for one in recover.parse(text, CUT, 3.0, 0.001) if one.metric == "return"]


def test_a_tunnel_whose_udp_is_blocked_has_more_time() -> None:
    waited = {event: recover.recovery_timeout(event) for event in ("udp-block", "peer-forgets", "link", "reboot")}
    assert waited == {"udp-block": 300, "peer-forgets": 300, "link": 60, "reboot": 60}
