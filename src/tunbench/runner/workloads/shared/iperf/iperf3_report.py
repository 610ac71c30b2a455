"""The JSON of iperf3's client: what is read of it, and what of it must agree."""

import math
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.node.json_output import table, value_at
from tunbench.runner.workloads.shared.arrivals import Heard

REST = 0.1
"""Seconds below which an interval is what remains of the last second, and no sample."""

MAX_DRIFT = 0.01
"""Seconds that may lie between two intervals: iperf3 measures both ends of each anew."""

UNPRINTED_SHARE = 0.1
"""The part of an interval below which iperf3 does not print one in which nothing was sent or received."""

TRAILING_SHARE = 0.1
"""The part of a test's bytes that may pass behind its last interval, or in one that was left out."""

UNSENT = 0.1
"""The part of the datagrams that may not have left: iperf3 counts each before it writes it (iperf_udp_send)."""

REVERSE_SUFFIX = "_bidir_reverse"
"""What the JSON puts behind the names of the sums of the server's own streams."""


class Total(NamedTuple):
    """What the sum at a place of the JSON counts: bytes, seconds and bit/s."""

    size: float
    seconds: float
    rate: float
    place: str


class Interval(NamedTuple):
    """One of the intervals: begin and end in seconds of the test, sum, bytes of its streams, and all that it tells."""

    begin: float
    end: float
    total: Total
    of_streams: float
    report: Any


class Datagrams(NamedTuple):
    """What was sent by UDP to the server: what the client counted, and what the server did.

    The client sent so many `packets` of so many bytes; the server has `seen` the last of those with that number, of
    which some were missing, and some came late, or twice.
    """

    length: float
    sent: Total
    packets: float
    intervals: list[Interval]
    received: Total
    seen: float
    missing: float
    late: float

    def loss(self, heard: Heard) -> float:
        """The datagrams that did not arrive, as a ratio.

        The server misses those in the gaps before the last datagram that it saw, and those behind it. What arrived when
        it had stopped to count is not lost.
        """
        missing = self.missing + self.packets - self.seen
        return max(0.0, missing - heard.late(self.seen, self.packets)) / self.packets


def load(text: str) -> dict[str, Any]:
    """The client's JSON. Raises WorkloadFailed where it is torn or holds an error."""
    data = table(text, "iperf3")
    if "error" in data:
        raise WorkloadFailed(f"iperf3: {data['error']}")
    return data


def number(data: Any, *path: str) -> float:
    """The number at a path of the JSON, at least 0. Raises WorkloadFailed."""
    found = value_at(data, *path)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= sys.float_info.max:
        raise WorkloadFailed(f"iperf3's JSON has no sound number at {'.'.join(path)}: {found!r:.80}")
    return float(found)


def whole(data: Any, *path: str) -> float:
    """The whole number at a path of the JSON. Raises WorkloadFailed."""
    found = number(data, *path)
    if not found.is_integer():
        raise WorkloadFailed(f"iperf3's JSON has no whole number at {'.'.join(path)}: {found!r}")
    return found


def items(data: Any, *path: str) -> list[Any]:
    """The list at a path of the JSON. Raises WorkloadFailed."""
    found = value_at(data, *path)
    if not isinstance(found, list):
        raise WorkloadFailed(f"iperf3's JSON has no list at {'.'.join(path)}")
    return found


def total(data: Any, *path: str) -> Total:
    """The sum at a path of the JSON. Raises WorkloadFailed."""
    rate, size, seconds = (number(data, *path, name) for name in ("bits_per_second", "bytes", "seconds"))
    return Total(size, seconds, rate, ".".join(path))


def intervals(report: Any, name: str) -> list[Interval]:
    """The intervals of a report, by the sum of that name in them. Raises WorkloadFailed."""
    return [_interval(one, name) for one in items(report, "intervals")]


def datagrams(data: Any) -> Datagrams:
    """What the client sent to the server by UDP. Raises WorkloadFailed."""
    streams = receiving(data, "server_output_json", "end", "streams")
    return Datagrams(
        length(data),
        total(data, "end", "sum_sent"),
        whole(data, "end", "sum_sent", "packets"),
        intervals(data, "sum"),
        total(data, "end", "sum_received"),
        whole(data, "server_output_json", "end", "sum", "packets"),
        whole(data, "server_output_json", "end", "sum", "lost_packets"),
        late(streams),
    )


def received_back(data: Any, suffix: str) -> Total:
    """What arrived at the client; the suffix is REVERSE_SUFFIX where it has sent as well. Raises WorkloadFailed.

    With both directions iperf3 divides what the client received by the time of the server, which ends later.
    """
    received = total(data, "end", f"sum_received{suffix}")
    if not suffix:
        return received
    seconds = total(data, "end", f"sum_sent{suffix}").seconds
    return received._replace(seconds=seconds, rate=8 * received.size / seconds if seconds else 0.0)


def receiving(data: Any, *path: str) -> list[Any]:
    """The streams at a path of the JSON that its reporter received. Raises WorkloadFailed."""
    return [one for one in items(data, *path) if value_at(one, "udp", "sender") is not True]


def length(data: Any) -> float:
    """The bytes of payload of a datagram. Raises WorkloadFailed."""
    return number(data, "start", "test_start", "blksize")


def late(streams: Sequence[Any]) -> float:
    """How many datagrams of some streams came late, or twice. Raises WorkloadFailed."""
    return sum(whole(one, "udp", "out_of_order") for one in streams)


def consistent(sent: Datagrams) -> Datagrams:
    """The same, where counts, bytes and intervals agree. Raises WorkloadFailed."""
    check_rates(sent.sent, sent.received)
    check_filling(sent.intervals, sent.sent)
    check_room(sent.length, sent.sent.size, sent.packets, UNSENT)
    if sent.packets < 1 or sent.packets < sent.seen or sent.missing > sent.seen:
        raise WorkloadFailed(
            f"iperf3 sent {sent.packets:g} datagrams and counted {sent.missing:g} lost of {sent.seen:g}"
        )
    # One that comes late or twice takes a loss away, if there is one: else it has bytes, and is in no other count.
    size, arrived = sent.received.size, sent.seen - sent.missing
    if not arrived * sent.length <= size <= (arrived + sent.late) * sent.length:
        raise WorkloadFailed(
            f"iperf3 received {size:g} B, and counted {arrived:g} datagrams of {sent.length:g} B and {sent.late:g} out"
            " of order"
        )
    return sent


def check_rates(*totals: Total) -> None:
    """Raises WorkloadFailed where a rate is not its bytes in its seconds."""
    for size, seconds, rate, place in totals:
        if not math.isclose(8 * size, rate * seconds, rel_tol=0.01) or (rate and not seconds):
            raise WorkloadFailed(f"iperf3 counted {size:g} B in {seconds:g} s as {rate:g} bit/s at {place}")


def check_intervals(found: Sequence[Interval]) -> None:
    """Raises WorkloadFailed where one does not begin where the one before it ends.

    Also where it has other seconds than lie in it, or other bytes than its streams.
    """
    before, slack = 0.0, MAX_DRIFT + _left_out(found)
    for begin, end, counted, of_streams, _ in found:
        check_rates(counted)
        if not math.isclose(of_streams, counted.size, rel_tol=0.01):
            raise WorkloadFailed(
                f"iperf3 counted {counted.size:g} B, and {of_streams:g} B of its streams in an interval"
            )
        if not -MAX_DRIFT <= begin - before <= slack or abs(end - begin - counted.seconds) > MAX_DRIFT:
            raise WorkloadFailed(
                f"iperf3 has an interval of {counted.seconds:g} s from {begin:g} to {end:g} s behind one until"
                f" {before:g} s"
            )
        before = end


def check_filling(found: Sequence[Interval], test: Total) -> None:
    """Raises WorkloadFailed where the intervals have other bytes than the whole test, or end at another time."""
    check_intervals(found)
    counted, end = sum(one.total.size for one in found), found[-1].end if found else 0.0
    if not math.isclose(counted, test.size, rel_tol=TRAILING_SHARE):
        raise WorkloadFailed(f"iperf3 counted {counted:g} B in the intervals of a test of {test.size:g} B")
    if not -MAX_DRIFT <= test.seconds - end <= MAX_DRIFT + _left_out(found):
        raise WorkloadFailed(f"iperf3 has intervals until {end:g} s of a test of {test.seconds:g} s")


def check_room(length: float, size: float, packets: float, less: float = 1.0) -> None:
    """Raises WorkloadFailed where so many datagrams, less a part of them, do not have so many bytes."""
    if not (1 - less) * packets * length <= size <= packets * length:
        raise WorkloadFailed(f"iperf3 counted {size:g} B in {packets:g} datagrams of {length:g} B")


def check_time(received: Total) -> None:
    """Raises WorkloadFailed where so many bytes cannot have been received in so short a time."""
    if received.seconds < received.size / 1e15:
        raise WorkloadFailed(f"iperf3 received {received.size:g} B in {received.seconds:g} s")


def _interval(data: Any, name: str) -> Interval:
    sender = value_at(data, name, "sender")
    streams = sum(number(one, "bytes") for one in items(data, "streams") if value_at(one, "sender") == sender)
    begin, end = number(data, name, "start"), number(data, name, "end")
    return Interval(begin, end, total(data, name), streams, data)


def _left_out(found: Sequence[Interval]) -> float:
    """How long an interval may be that was not printed, in seconds."""
    return UNPRINTED_SHARE * max((one.total.seconds for one in found), default=0.0)
