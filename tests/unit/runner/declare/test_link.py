"""What frames take of a medium, what a queue holds, and a link's way to the runner and back."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tunbench.runner.declare.link import FIFO, FRAMINGS, POLICER, QUEUES, SEGMENTATIONS, USUAL, Direction, Link, of_spec
from tunbench.runner.network import link_command


@pytest.mark.parametrize(
    ("framing", "frame", "expected"),
    [
        # IEEE 802.3: 1500 B and a header of 14, a check sequence of 4, preamble 8, gap 12; a frame has 64 B at least.
        ("ethernet", 1514, 1538),
        ("ethernet", 60, 84),
        ("ethernet", 42, 84),
        ("ethernet", 61, 85),
        ("ethernet", 9014, 9038),
        # RFC 2516: 1492 B with PPPoE's 6 and PPP's 2 fill the same frame as 1500.
        ("pppoe", 1506, 1538),
        ("pppoe", 52, 84),
        ("pppoe", 54, 86),
        # RFC 2684: 1492 + PPP 2 + PPPoE 6 + Ethernet 14 + LLC/SNAP 10 + AAL5 8 = 1532 B, in 32 cells of 48 B.
        ("atm", 1506, 32 * 53),
        # An acknowledgement of 40 B: 80 B in 2 cells.
        ("atm", 54, 2 * 53),
        ("atm", 70, 2 * 53),
        ("atm", 71, 3 * 53),
        ("none", 1514, 1514),
        ("none", 42, 42),
    ],
)
def test_a_frame_takes_what_the_standard_adds(framing: str, frame: int, expected: int) -> None:
    assert FRAMINGS[framing].wire_bytes(frame) == expected


def test_tcp_fills_a_gigabit_with_what_its_headers_leave() -> None:
    # 1448 B of 1500: 20 of IPv4, 20 of TCP, 12 of its time stamps.
    assert 1e9 * 1448 / FRAMINGS["ethernet"].wire_bytes(1514) == pytest.approx(941.48e6, rel=1e-5)


def test_a_usual_link_has_a_base_round_trip_of_0_3_ms() -> None:
    assert Link("any").base_round_trip == pytest.approx(300e-6)
    far = Link("far", up=Direction(delay=0.001), down=Direction(delay=0.002))
    assert (far.crossing_delay, far.base_round_trip) == pytest.approx((0.003, 0.006))


@pytest.mark.parametrize(
    ("link", "frames"),
    [
        # 50 ms of 100 Mbit/s are 625,000 B of the medium: 406 frames of 1538.
        (Link("any", Direction(100e6, queue_seconds=0.05)), 406),
        # 50 ms of 1 Mbit/s are 6250 B: 3.7 frames of 32 cells.
        (Link("any", Direction(1e6, queue_seconds=0.05), framing="atm", mtu=1492), 4),
        (Link("any", Direction(1e9, queue_seconds=0.05), mtu=9000), 692),
        # Less than a frame: what waits while another one leaves.
        (Link("any", Direction(1e3, queue_seconds=0.001)), 1),
    ],
)
def test_a_queue_of_so_much_time_holds_the_frames_that_leave_in_it(link: Link, frames: int) -> None:
    assert link.queue_bytes(link.up) == frames * (link.mtu + 14)


RATES = st.floats(1e3, 1e12).map(round).map(float)
DELAYS = st.floats(0, 60)
FIFOS = st.builds(
    Direction,
    rate=st.just(0.0) | RATES,
    delay=DELAYS,
    queue_packets=st.integers(1, 10_000_000),
    queue_seconds=st.just(0.0) | st.floats(1e-6, 60),
    queue=st.just(FIFO),
    burst=st.just(0),
)
# Other kinds keep what a fifo would hold at its default.
OTHERS = st.tuples(RATES, DELAYS, st.sampled_from(sorted({*QUEUES} - {FIFO})), st.integers(1514, 10_000_000)).map(
    lambda drawn: Direction(*drawn[:2], queue=drawn[2], burst=drawn[3] if drawn[2] == POLICER else 0)
)
DIRECTIONS = FIFOS | OTHERS
LINKS = st.builds(
    Link,
    name=st.just("any"),
    up=DIRECTIONS,
    down=DIRECTIONS,
    mtu=st.integers(576, 65_535),
    framing=st.sampled_from(sorted(FRAMINGS)),
    segmentation=st.sampled_from(sorted(SEGMENTATIONS)),
    gro=DELAYS,
)


@given(LINKS)
def test_what_the_runner_gets_is_the_link_of_the_plan(link: Link) -> None:
    found = of_spec(json.loads(json.dumps(link.spec())))
    assert found.spec() == link.spec()
    assert replace(found, up=USUAL, down=USUAL) == replace(link, up=USUAL, down=USUAL)
    for there, here in ((found.up, link.up), (found.down, link.down)):
        assert (there.rate, there.delay) == (here.rate, here.delay)
        assert link_command.shaper("eth0", found, there) == link_command.shaper("eth0", link, here)


@given(LINKS)
def test_a_queue_of_so_much_time_is_right_by_half_a_frame(link: Link) -> None:
    for way in (link.up, link.down):
        if way.rate and way.queue == FIFO and way.queue_seconds:
            one = 8 * FRAMINGS[link.framing].wire_bytes(link.largest_frame) / way.rate
            frames = link.queue_bytes(way) / link.largest_frame
            assert frames >= 1 and frames == int(frames)
            assert abs(frames * one - way.queue_seconds) <= max(one / 2 * 1.000001, one - way.queue_seconds)


def test_what_waits_for_nothing_has_no_queue() -> None:
    assert Direction(queue_packets=7).spec() == {"delay": USUAL.delay}
    assert Direction(1e6, 0.0, 7).spec() == {"delay": 0.0, "rate": 1e6, "queue_packets": 7}
    assert Direction(1e6, 0.0, 0, 0.05).spec() == {"delay": 0.0, "rate": 1e6, "queue_seconds": 0.05}
