"""What is heard beside a receiver of UDP: what it did not wait for, and how long datagrams took."""

import socket
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fakes import FakeEvents, FakeShell, move_home, two_nodes
from tests.helpers.listener import hears
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.options import resolve
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.workload import Sample, Trial
from tunbench.runner.workloads import iperf3_udp
from tunbench.runner.workloads.shared import arrivals, raw_listener
from tunbench.runner.workloads.shared.arrivals import Arrival, Ear, Expected, Heard
from tunbench.runner.workloads.shared.raw_listener import ALL, LAYOUTS, Flow

FLOW = Flow(4, "eth0", 1, 5201, LAYOUTS["iperf3"])


def stream(*numbers: int, port: int = 7) -> list[tuple[int, int]]:
    return [(port, number) for number in numbers]


@pytest.mark.parametrize(
    ("arrived", "seen", "late"),
    [
        (range(90, 101), 100, 0),
        (range(90, 101), 97, 3),
        # The last one overtook three, and the receiver stopped behind it.
        ([90, 94, 98, 91, 95, 97], 98, 3),
        # 91 was dropped where the socket was full: it came before the last one that was read.
        ([90, 91, 92, 94, 93], 94, 1),
        # It came to a closed socket, and once more.
        ([90, 92, 91, 91], 92, 1),
        # It had been read, and came once more.
        ([90, 91, 92, 91], 92, 0),
        # Nothing had come for a while when the test ended.
        (range(90, 95), 80, 5),
        ([], 80, 0),
        # No such number was sent.
        ([90, 5_000_000, -5, 91, 92], 91, 1),
    ],
)
def test_late_is_what_came_behind_the_last_one_that_was_read(arrived: list[int], seen: int, late: int) -> None:
    assert Heard(tail=stream(*arrived)).late(seen, 100) == late


@pytest.mark.parametrize(
    ("arrived", "seen", "read", "late"),
    [
        # The highest overtook three; the test ended behind the first, all, or none of them.
        ([90, 94, 98, 91, 95, 97], 98, 4, 2),
        ([90, 94, 98, 91, 95, 97], 98, 6, 0),
        ([90, 94, 98, 91, 95, 97], 98, 2, 3),
        # What has a higher number than the highest was not read, nor what came behind it.
        ([90, 94, 91, 95, 92], 94, 5, 2),
    ],
)
def test_until_the_test_ends_it_reads_what_its_highest_number_overtook(
    arrived: list[int], seen: int, read: int, late: int
) -> None:
    assert Heard(tail=stream(*arrived), read=read).late(seen, 100) == late


def test_of_several_streams_the_receiver_knows_the_sum() -> None:
    tail = [(port, number) for number in range(90, 101) for port in (7, 8, 9)]
    assert Heard(tail=tail).late(300, 100) == 0
    assert Heard(tail=tail).late(3 * 98, 100) == 6
    assert Heard(tail=tail).late(99 + 98 + 98, 100) == 5


@given(order=st.permutations(range(1, 9)), read=st.integers(0, 8))
def test_in_whatever_order_they_arrive_no_loss_is_left_where_nothing_was_lost(order: list[int], read: int) -> None:
    taken = order[:read]
    seen = max(taken, default=0)
    missing = 8 - len(taken)
    late = Heard(tail=stream(*order)).late(seen, 8)
    # What is read behind the highest number was heard behind it as well, and is no more a loss for that.
    assert late >= missing


def test_behind_the_end_of_a_stream_is_what_its_server_did_not_count() -> None:
    tail = [*stream(1, 2, 4, -6), *stream(1, 2, 3, -4, port=8), *stream(3, -7, 5, 5, 4)]
    assert Heard(tail=tail).behind_end() == 2
    assert Heard(tail=stream(1, 2, 3)).behind_end() == 0


def packet(family: int, *ports: int, payload: bytes, options: int = 0) -> bytes:
    udp = struct.pack("!HHHH", *ports, 8 + len(payload), 0) + payload
    return udp if family == 6 else bytes([0x45 + options]) + bytes(19 + 4 * options) + udp


def segment(family: int, *ports: int, payload: bytes, options: int = 0) -> bytes:
    """A packet of TCP, and what a short frame is filled up with."""
    tcp = struct.pack("!HH8xB7x", *ports, 5 + options << 4) + bytes(4 * options) + payload
    if family == 6:
        return struct.pack("!IHBB32x", 6 << 28, len(tcp), socket.IPPROTO_TCP, 64) + tcp + b"\x04"
    return struct.pack("!BxHxxxxxB10x", 0x45, 20 + len(tcp), socket.IPPROTO_TCP) + tcp + b"\x04"


@pytest.mark.parametrize("family", [4, 6])
def test_a_byte_to_the_server_ends_a_test(family: int) -> None:
    flow, client, server = FLOW._replace(family=family), 7, 5201
    for options in (0, 3):
        assert flow.ends(memoryview(segment(family, client, server, payload=b"\x04", options=options)))
        assert not flow.ends(memoryview(segment(family, server, client, payload=b"\x04", options=options)))
        for other in (b"", b"\x10", b"\0\0\0\x04"):
            assert not flow.ends(memoryview(segment(family, client, server, payload=other, options=options)))
    assert not flow.ends(memoryview(segment(10 - family, client, server, payload=b"\x04")))
    assert not flow.ends(memoryview(segment(family, client, server, payload=b"\x04")[:30]))


def passes(program: bytes, data: bytes) -> bool:
    """What the kernel's filter does with a packet: Linux, Documentation/networking/filter.rst."""
    steps = list(struct.iter_unpack("HBBI", program))
    at = accumulator = index = 0
    while True:
        code, true, false, value = steps[at]
        at += 1
        if code in (0x48, 0x40):
            size = 2 if code == 0x48 else 4
            found = data[index + value : index + value + size]
            if len(found) < size:
                return False
            accumulator = int.from_bytes(found)
        elif code in (0xB1, 0x01):
            index = 4 * (data[0] & 15) if code == 0xB1 else value
        elif code in (0x74, 0x24):
            accumulator = (accumulator >> value if code == 0x74 else accumulator * value) & ALL
        elif code in (0x15, 0x25, 0x35):
            holds = {0x15: accumulator == value, 0x25: accumulator > value, 0x35: accumulator >= value}
            at += true if holds[code] else false
        else:
            assert code == 0x06
            return bool(value)


@given(number=st.integers(-(1 << 31), (1 << 31) - 1), share=st.integers(0, ALL), options=st.integers(0, 10))
def test_the_kernel_lets_through_what_belongs_to_the_share(number: int, share: int, options: int) -> None:
    for layout, payload in (("iperf3", struct.pack("!8xi", number)), ("iperf2", struct.pack("!i8x", number))):
        for family in (4, 6):
            flow = Flow(family, "eth0", 1, 5201, LAYOUTS[layout])
            program = flow.filter(share)
            chosen = raw_listener.chosen(number, share) or 0 <= number < raw_listener.FIRST
            assert passes(program, packet(family, 7, 5201, payload=payload, options=options)) == chosen
            assert not passes(program, packet(family, 7, 5202, payload=payload, options=options))
            assert not passes(program, packet(family, 5201, 7, payload=payload, options=options))
            assert passes(flow._replace(side=0).filter(share), packet(family, 5201, 7, payload=payload)) == chosen


def test_what_opens_a_stream_passes_and_what_is_torn_does_not() -> None:
    assert passes(FLOW.filter(0), packet(4, 7, 5201, payload=bytes(4)))
    assert not passes(FLOW.filter(ALL), packet(4, 7, 5201, payload=bytes(12))[:-1])


def test_what_came_before_its_stream_was_accepted_is_told() -> None:
    assert arrivals.parse("ready\nearly 7 1..2 2 4\nearly 8 1\nend 0 0\n") == Heard([], [], 4)


def test_a_share_has_its_part_of_whole_pairs_of_all_datagrams() -> None:
    share = arrivals._share(50_000)
    found = [number for number in range(50_000) if raw_listener.chosen(number, share)]
    assert len(found) == pytest.approx(arrivals.SHARE, abs=2)
    assert {number ^ 1 for number in found} == set(found)
    gaps = {later - earlier for earlier, later in zip(found[::2], found[2::2], strict=False)}
    assert len(gaps) == 3, "they lie at three distances, and none is that of a timer"


def test_a_packet_of_another_test_is_none() -> None:
    found = FLOW.stream_of(memoryview(packet(4, 7, 5201, payload=b"what", options=2)))
    assert found and (found[0], bytes(found[1])) == (7, b"what")
    assert FLOW.stream_of(memoryview(packet(4, 7, 5202, payload=b"what"))) is None


@given(st.lists(st.integers(-20, 20), max_size=30))
def test_numbers_are_told_in_their_order(numbers: list[int]) -> None:
    words = list(raw_listener.spans(numbers))
    text = f"ready\n{f'tail 7 {chr(32).join(words)}' if words else ''}\nend 0 0\n"
    assert arrivals.parse(text).tail == stream(*numbers)


def test_numbers_that_follow_one_another_are_one_word() -> None:
    assert list(raw_listener.spans([7, 8, 9, 12, 11, 10, -9])) == ["7..9", "12", "11", "10", "-9"]


TOLD = "ready\nsample 7 4 1000000 20000000\nsample 7 5 2000000 5000000\nsample 7 9 9000000 1000\nend 0 17\n"


def test_delays_and_their_differences_are_told() -> None:
    found = arrivals.samples(arrivals.parse(TOLD), "b")
    assert found == [
        Sample("one-way-delay", 0.02, 0.0, "b"),
        Sample("one-way-delay", 0.005, 0.001, "b"),
        Sample("ipdv", 0.015, 0.001, "b"),
        Sample("one-way-delay", 1e-6, 0.008, "b"),
    ]
    assert {one.metric for one in found} == set(arrivals.METRICS)


def test_a_datagram_that_comes_twice_took_as_long_as_the_first_of_them() -> None:
    share = [Arrival(7, 4, 0, 5_000_000), Arrival(7, 4, 0, 9_000_000)]
    assert arrivals.samples(Heard(share)) == [Sample("one-way-delay", 0.005, 0.0)]


def test_a_clock_that_was_set_and_a_damaged_moment_tell_no_delay() -> None:
    assert len(arrivals.parse(TOLD).share) == 3
    assert arrivals.parse(TOLD.replace("end 0 17", "end 0 -100001")).share == []
    assert len(arrivals.parse(TOLD.replace(" 20000000", " -20000000")).share) == 2
    assert len(arrivals.parse(TOLD.replace(" 20000000", " 60000000001")).share) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ready\n", "ended without a result: 'ready'"),
        ("Traceback\nPermissionError: no\n", "ended without a result: 'Traceback.*PermissionError: no'"),
        ("ready\ntail 7 9..7\nend 0 0\n", r"told of '9\.\.7'"),
        ("ready\ntail 7 x\nend 0 0\n", "told of 'x'"),
        ("ready\ntail 7 1..10000002\nend 0 0\n", r"told of '1\.\.10000002'"),
    ],
)
def test_what_was_torn_has_failed(text: str, message: str) -> None:
    with pytest.raises(WorkloadFailed, match=f"what hears the datagrams {message}"):
        arrivals.parse(text)


@pytest.fixture
def trial(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Trial:
    move_home(monkeypatch, tmp_path)
    client, server = two_nodes(FakeShell({}, hears(TOLD)), FakeEvents())
    return Trial(resolve(iperf3_udp.ABOUT.options, {}, ""), client, server, PAIR_UNDERLAYS["ip"].endpoints)


def test_the_command_and_what_was_told(trial: Trial) -> None:
    ear = Ear(trial.server, True, "5201", "iperf3", 1300)
    with arrivals.heard(trial, [ear], Expected(2, 2_000)):
        assert not trial.server.exists(trial.server.home / "arrivals-5201.stop")
    assert trial.server.exists(trial.server.home / "arrivals-5201.stop")
    assert trial.outputs == {"arrivals-b.txt": TOLD}
    assert isinstance(trial.server.events, FakeEvents) and isinstance(trial.server.shell, FakeShell)
    [command] = [one for one in trial.server.events.commands if "python" in one]
    words = f"4 eth0 1 5201 iperf3 1300 {ALL // 4} 1.9 {trial.server.home}/arrivals-5201.stop"
    assert f"/b/arrivals.py {words} >>" in command
    assert [process.ended for process in trial.server.shell.started] == ["killed"]


def test_without_delays_it_does_not_hear_before_the_end(trial: Trial) -> None:
    with arrivals.heard(trial, [Ear(trial.client, False, "5201", "iperf3", 1300)], Expected(1)):
        pass
    assert isinstance(trial.client.shell, FakeShell)
    assert " 4 eth0 0 5201 iperf3 1300 0 0.9 " in trial.client.shell.texts[-1]


def test_a_listener_that_does_not_start_has_failed(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "START_TIMEOUT", 0.02)
    assert isinstance(trial.server.shell, FakeShell)
    trial.server.shell.begins = {}
    with (
        pytest.raises(WorkloadFailed, match=r"what hears the datagrams did not start within 0\.02 s"),
        arrivals.heard(trial, [Ear(trial.server, True, "5201", "iperf3", 1300)], Expected(1)),
    ):
        pass
    assert [process.ended for process in trial.server.shell.started] == ["killed"]
