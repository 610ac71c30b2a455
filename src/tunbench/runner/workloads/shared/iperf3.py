"""What the iperf3 workloads share: one server for one test, the client's JSON, and what may be wrong with it."""

import math
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.node.json_output import at, table
from tunbench.runner.node.shell import wait_until
from tunbench.runner.workload import Trial
from tunbench.runner.workloads.shared.server_process import serving

PORT = 5201
"""The first port of its servers: each pair of nodes that is under way at once has one."""

PATIENCE = 20.0
"""Seconds that the client may take beyond the test's own duration."""

SLOWEST = 100_000.0
"""Bits a second at which a number of bytes must pass, to be waited for."""

USUAL = 50e6
"""Bits a second by which the time for a number of bytes is estimated."""

TRIES = 3
"""Times that a test by UDP is begun: where the one datagram that opens a stream is lost, iperf3 waits for ever."""

REST = 0.1
"""Seconds below which an interval is what remains of the last second, and no sample."""

ADRIFT = 0.01
"""Seconds that may lie between two intervals: iperf3 measures both ends of each anew."""

LEFT_OUT = 0.1
"""The part of an interval below which iperf3 does not print one in which nothing was sent or received."""

BEHIND = 0.1
"""The part of a test's bytes that may pass behind its last interval, or in one that was left out."""

APART = 0.5
"""Seconds by which the server's time may be shorter than the client's: each begins by itself."""

UNSENT = 0.1
"""The part of the datagrams that may not have left: iperf3 counts each before it writes it (iperf_udp_send)."""

FLIGHT = 0.05
"""Seconds of sending that may be on their way when the server stops to count."""

BACK = "_bidir_reverse"
"""What the JSON puts behind the names of the sums of the server's own streams."""

BYTES = Option("size", "0", "bytes to send; 0: for `duration`, whose place it takes", low=1, high=1e12, zero=True)
PARALLEL = Option("count", "1", "streams at once", low=1, high=128)
REVERSE = Option("switch", "off", "the server sends")
BIDIR = Option("switch", "off", "both send at once")
# iperf3's MAX_TCP_BUFFER.
WINDOW = Option("size", "0", "bytes of each socket's buffers, 0: the system's", low=1, high=512 << 20, zero=True)


class Total(NamedTuple):
    """What one of the sums in the JSON counts: bytes, seconds and bit/s."""

    size: float
    seconds: float
    rate: float


class Arrival(NamedTuple):
    """What the client sent by UDP, what of it the server received, and the part that was lost, as a ratio."""

    sent: Total
    received: Total
    loss: float


class Interval(NamedTuple):
    """One of the intervals in the JSON: its begin and end in seconds of the test, what it counts, and all it tells."""

    begin: float
    end: float
    total: Total
    report: Any


def amount(options: Options) -> tuple[str, str]:
    """How much to send, in iperf3's words."""
    return ("--bytes", str(options["bytes"])) if options["bytes"] else ("--time", str(options["duration"]))


def direction(options: Options) -> list[str]:
    """Who sends, in iperf3's words. Raises ValueError where it is said twice."""
    if options["reverse"] and options["bidir"]:
        raise ValueError("the options reverse and bidir exclude each other: with bidir both send")
    return ["--reverse"] if options["reverse"] else ["--bidir"] if options["bidir"] else []


def expected(options: Options) -> float:
    """About how many seconds a test lasts."""
    return 8 * float(options["bytes"]) / USUAL or float(options["duration"])


def longest(options: Options) -> float:
    """Seconds that a test may last by what was asked for."""
    return 8 * float(options["bytes"]) / SLOWEST or float(options["duration"])


def measure(trial: Trial, seconds: float, *arguments: str, server_arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Runs one test that lasts so many seconds, and returns the client's JSON. Raises WorkloadFailed."""
    port = trial.port(PORT)
    serve = ("iperf3", "--server", "--one-off", "--port", port, *server_arguments)
    with serving(trial.server, *serve, log="iperf3", port=port) as server:
        result = trial.client.try_run(
            *("iperf3", "--client", trial.target, "--port", port, "--json", *arguments),
            timeout=seconds + PATIENCE,
        )
        wait_until(lambda: server.poll() is not None, 1)
    trial.outputs["iperf3.json"] = result.stdout
    if result.stderr:
        trial.outputs["iperf3.stderr"] = result.stderr
    if result.status is None:
        raise WorkloadFailed(f"iperf3 did not end within {PATIENCE:g} s after the test's duration")
    return load(result.stdout)


def measure_udp(trial: Trial, seconds: float, *arguments: str, server_arguments: Sequence[str] = ()) -> dict[str, Any]:
    """The same by UDP, begun again where it did not come to its end. Raises WorkloadFailed."""
    for left in reversed(range(TRIES)):
        try:
            return measure(trial, seconds, "--udp", *arguments, server_arguments=server_arguments)
        except WorkloadFailed:
            if not left:
                raise
    raise AssertionError("the last try returns or raises")


def load(text: str) -> dict[str, Any]:
    """The client's JSON. Raises WorkloadFailed where it is torn or holds an error."""
    data = table(text, "iperf3")
    if "error" in data:
        raise WorkloadFailed(f"iperf3: {data['error']}")
    return data


def number(data: Any, *path: str) -> float:
    """The number at a path of the JSON, at least 0. Raises WorkloadFailed."""
    found = at(data, *path)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= sys.float_info.max:
        raise WorkloadFailed(f"iperf3's JSON has no sound number at {'.'.join(path)}: {found!r:.80}")
    return float(found)


def whole(data: Any, *path: str) -> float:
    """The whole number at a path of the JSON. Raises WorkloadFailed."""
    found = number(data, *path)
    if not found.is_integer():
        raise WorkloadFailed(f"iperf3's JSON has no whole number at {'.'.join(path)}: {found!r}")
    return found


def total(data: Any, *path: str) -> Total:
    """The sum at a path of the JSON. Raises WorkloadFailed where its rate is not its bytes in its seconds."""
    rate, size, seconds = (number(data, *path, name) for name in ("bits_per_second", "bytes", "seconds"))
    if not math.isclose(8 * size, rate * seconds, rel_tol=0.01) or (rate and not seconds):
        raise WorkloadFailed(f"iperf3 counted {size:g} B in {seconds:g} s as {rate:g} bit/s at {'.'.join(path)}")
    return Total(size, seconds, rate)


def items(data: Any, *path: str) -> list[Any]:
    """The list at a path of the JSON. Raises WorkloadFailed."""
    found = at(data, *path)
    if not isinstance(found, list):
        raise WorkloadFailed(f"iperf3's JSON has no list at {'.'.join(path)}")
    return found


def intervals(report: Any, name: str) -> list[Interval]:
    """The intervals of a report, by the sum of that name in them. Raises WorkloadFailed.

    Each begins where the one before it ends, and has the seconds that lie in it, and the bytes of its streams.
    """
    found = [_interval(one, name) for one in items(report, "intervals")]
    before, slack = 0.0, ADRIFT + _left_out(found)
    for begin, end, (_, seconds, _), _ in found:
        if not -ADRIFT <= begin - before <= slack or abs(end - begin - seconds) > ADRIFT:
            raise WorkloadFailed(
                f"iperf3 has an interval of {seconds:g} s from {begin:g} to {end:g} s behind one until {before:g} s"
            )
        before = end
    return found


def filling(report: Any, name: str, size: float, seconds: float) -> list[Interval]:
    """The same of a whole test. Raises WorkloadFailed where they have other bytes than it, or end at another time."""
    found = intervals(report, name)
    counted, end = sum(one.total.size for one in found), found[-1].end if found else 0.0
    if not math.isclose(counted, size, rel_tol=BEHIND):
        raise WorkloadFailed(f"iperf3 counted {counted:g} B in the intervals of a test of {size:g} B")
    if not -ADRIFT <= seconds - end <= ADRIFT + _left_out(found):
        raise WorkloadFailed(f"iperf3 has intervals until {end:g} s of a test of {seconds:g} s")
    return found


def _interval(data: Any, name: str) -> Interval:
    counted, sender = total(data, name), at(data, name, "sender")
    streams = sum(number(one, "bytes") for one in items(data, "streams") if at(one, "sender") == sender)
    if not math.isclose(streams, counted.size, rel_tol=0.01):
        raise WorkloadFailed(f"iperf3 counted {counted.size:g} B, and {streams:g} B of its streams in an interval")
    return Interval(number(data, name, "start"), number(data, name, "end"), counted, data)


def _left_out(found: Sequence[Interval]) -> float:
    """How long an interval may be that was not printed, in seconds."""
    return LEFT_OUT * max((one.total.seconds for one in found), default=0.0)


def sent_datagrams(data: Any) -> tuple[Total, float]:
    """What the client sent by UDP, and how many datagrams. Raises WorkloadFailed."""
    sent, packets = total(data, "end", "sum_sent"), whole(data, "end", "sum_sent", "packets")
    filling(data, "sum", sent.size, sent.seconds)
    require_room(data, sent.size, packets, UNSENT)
    return sent, packets


def arrival(data: Any) -> Arrival:
    """What became of the datagrams that the client sent. Raises WorkloadFailed.

    The server counts gaps before the last datagram that it saw. What is missing behind it is lost too, unless it is so
    little that it may be on its way, or the last one of each stream.
    """
    sent, datagrams = sent_datagrams(data)
    received, streams = total(data, "end", "sum_received"), receiving(data, "server_output_json", "end", "streams")
    seen, missing = (whole(data, "server_output_json", "end", "sum", name) for name in ("packets", "lost_packets"))
    behind = datagrams - seen
    if datagrams < 1 or behind < 0 or missing > seen:
        raise WorkloadFailed(f"iperf3 sent {datagrams:g} datagrams and counted {missing:g} lost of {seen:g}")
    _require_received(data, received.size, seen - missing, streams)
    on_their_way = seen and (behind <= len(streams) or behind * sent.seconds <= datagrams * FLIGHT)
    return Arrival(sent, received, (missing + (0 if on_their_way else behind)) / datagrams)


def receiving(data: Any, *path: str) -> list[Any]:
    """The streams at a path of the JSON that its reporter received. Raises WorkloadFailed."""
    return [one for one in items(data, *path) if at(one, "udp", "sender") is not True]


def _require_received(data: Any, size: float, datagrams: float, streams: Sequence[Any]) -> None:
    """Raises WorkloadFailed where the bytes that arrived are not those of the datagrams that did.

    One that comes late or twice takes a loss away, if there is one: else it has bytes, and is in no other count.
    """
    length = number(data, "start", "test_start", "blksize")
    late = sum(whole(one, "udp", "out_of_order") for one in streams)
    if not datagrams * length <= size <= (datagrams + late) * length:
        raise WorkloadFailed(
            f"iperf3 received {size:g} B, and counted {datagrams:g} datagrams of {length:g} B and {late:g} out of order"
        )


def require_room(data: Any, size: float, datagrams: float, less: float = 1.0) -> None:
    """Raises WorkloadFailed where so many datagrams, less a part of them, do not have so many bytes."""
    length = number(data, "start", "test_start", "blksize")
    if not (1 - less) * datagrams * length <= size <= datagrams * length:
        raise WorkloadFailed(f"iperf3 counted {size:g} B in {datagrams:g} datagrams of {length:g} B")


def received_back(data: Any, suffix: str) -> Total:
    """What arrived at the client; the suffix is BACK where it has sent as well. Raises WorkloadFailed.

    With both directions iperf3 divides what the client received by the time of the server, which ends later.
    """
    received = f"sum_received{suffix}"
    size = total(data, "end", received).size
    seconds = total(data, "end", f"sum_sent{suffix}" if suffix else received).seconds
    if seconds < size / 1e15:
        raise WorkloadFailed(f"iperf3 received {size:g} B in {seconds:g} s")
    return Total(size, seconds, 8 * size / seconds if seconds else 0.0)
