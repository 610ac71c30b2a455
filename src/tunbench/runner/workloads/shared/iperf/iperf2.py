"""What the iperf 2 workloads share: a server for one trial, and the lines that client and server print.

iperf 2 has no JSON, and its CSV rounds; with --enhanced and --format b it prints whole bytes and bits a second.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.node.shell import wait_until
from tunbench.runner.workload import Sample, Trial
from tunbench.runner.workloads.shared.iperf.iperf3 import SLOWEST, USUAL
from tunbench.runner.workloads.shared.iperf.iperf3_report import REST
from tunbench.runner.workloads.shared.output_bounds import COUNT, FRACTION, IDENTIFIER, SECONDS
from tunbench.runner.workloads.shared.server_process import serving

PORT = 5001
"""The first port of its servers."""

CLIENT_GRACE = 120.0
"""Seconds that the client may take beyond the test's own duration, and the server until it has read all of it.

When the time is over, iperf closes its socket, and the kernel sends what it has of it. By default that is up to 4 MiB
(`tcp_wmem`, tcp(7)), for which a network of 0.3 Mbit/s needs two minutes.
"""

PARTIAL = 0.25
"""Seconds that the last interval may last without being printed: iperf 2.1.8, include/Reporter.h, PARTIALPERCENT."""

ROUNDING = 0.0002
"""Seconds by which two times may differ that are equal: iperf rounds to 0.1 ms."""

# With fewer bytes than its own header iperf 2.1.8 never ends.
BYTES = Option(
    "size", "0", "bytes that each stream sends; 0: for `duration`, whose place it takes", low=1000, high=1e12, zero=True
)
DURATION = Option("seconds", "2", "whole seconds to send", low=1, high=86400)
PARALLEL = Option("count", "1", "streams at once", low=1, high=128)
WINDOW = Option("size", "0", "bytes of each socket's buffers, 0: the system's", low=2048, high=512 << 20, zero=True)

NUMBER = rf"({COUNT}(?:{FRACTION})?)"
LINE = re.compile(
    rf"^\[ *({IDENTIFIER})\] ({SECONDS}\.\d{{4}})-({SECONDS}\.\d{{4}}) sec"
    rf" +{NUMBER} Bytes +{NUMBER} bits/sec\b(.*)$",
    re.ASCII | re.MULTILINE,
)


class Line(NamedTuple):
    """What a stream did in an interval: seconds, bytes, bit/s, and what stands behind in the words of iperf."""

    stream: int
    start: float
    end: float
    size: float
    rate: float
    rest: str


class Printed(NamedTuple):
    """The lines of each stream, and the last line that is not about a stream, such as an error."""

    streams: dict[int, list[Line]]
    last_words: str

    @property
    def totals(self) -> list[Line]:
        """The last line of each stream, which is about all of its time."""
        return [of_stream[-1] for of_stream in self.streams.values()]

    @property
    def size(self) -> float:
        """The bytes of all streams."""
        return sum(one.size for one in self.totals)


def amount(options: Options) -> tuple[str, str]:
    """How much to send, in iperf's words."""
    return ("--num", str(options["bytes"])) if options["bytes"] else ("--time", str(options["duration"]))


def expected(options: Options) -> float:
    """About how many seconds a test lasts."""
    return _all_bits(options) / USUAL or float(options["duration"])


def longest(options: Options) -> float:
    """Seconds that a test may last by what was asked for."""
    return _all_bits(options) / SLOWEST or float(options["duration"])


def _all_bits(options: Options) -> float:
    return 8 * float(options["bytes"]) * float(options["parallel"])


def measure(trial: Trial, seconds: float, common: Sequence[str], arguments: Sequence[str]) -> tuple[str, str]:
    """Runs one test that lasts so many seconds; what the client and the server printed. Raises WorkloadFailed.

    `common` are arguments of both. What had been measured before a failure is in the trial's samples.
    """
    port = trial.port(PORT)
    family = ["--ipv6_domain"] if trial.overlay.family == 6 else []
    common = [*common, *family, "--port", port, "--enhanced", "--interval", "1", "--format", "b"]
    printed = trial.server.log(f"iperf-{port}")
    # What an earlier server of that port printed says nothing of this one.
    trial.server.remove(printed)
    serve = ("iperf", "--server", *common)
    proto = "udp" if "--udp" in common else "tcp"
    try:
        # Asked to end, it would first wait for its threads, and could take the connection of the next trial.
        with serving(trial.server, *serve, log=printed.stem, port=port, proto=proto, at_once=True):
            result = trial.client.try_run(
                *("iperf", "--client", trial.target, *common, *arguments), timeout=seconds + CLIENT_GRACE
            )
            streams = int(trial.options["parallel"])
            wait_until(
                lambda: result.status is None or _has_totals(read(trial.server.read(printed)), streams), CLIENT_GRACE
            )
    finally:
        if trial.server.exists(printed):
            trial.outputs["iperf-server.txt"] = trial.server.read(printed)
    trial.outputs["iperf-client.txt"] = result.stdout + result.stderr
    if result.status is None:
        trial.samples += series(read(trial.outputs["iperf-server.txt"]))
        raise WorkloadFailed(f"iperf did not end within {CLIENT_GRACE:g} s after the time that the test may take")
    return trial.outputs["iperf-client.txt"], trial.outputs["iperf-server.txt"]


def read(text: str) -> Printed:
    """What a client or a server printed. A line that cannot be read is none of a stream."""
    found: dict[int, list[Line]] = {}
    for stream, *numbers, rest in LINE.findall(text):
        start, end, size, rate = map(float, numbers)
        found.setdefault(int(stream), []).append(Line(int(stream), start, end, size, rate, rest))
    return Printed(found, _last_words(text))


def consistent(printed: Printed, streams: int, who: str) -> Printed:
    """The same, where each of so many streams has a total, and its lines agree with it. Raises WorkloadFailed."""
    if len(printed.streams) != streams or any(one.start != 0 or one.end <= 0 for one in printed.totals):
        raise WorkloadFailed(f"the iperf {who} printed no total for each of {streams} streams: {printed.last_words!r}")
    for of_stream in printed.streams.values():
        for one in of_stream:
            _check_rate(one, who)
        if len(of_stream) > 1:
            _check_sum(of_stream[:-1], of_stream[-1], who)
    return printed


def _check_rate(line: Line, who: str) -> None:
    """Raises WorkloadFailed where a rate is not its bytes in its time."""
    seconds = line.end - line.start
    # Times are rounded to 0.1 ms, and small numbers to three digits.
    if abs(8 * line.size - line.rate * seconds) > 0.006 * 8 * line.size + 0.001 * line.rate:
        raise WorkloadFailed(f"the iperf {who} printed {line.size:g} B in {seconds:g} s as {line.rate:g} bit/s")


def _check_sum(found: Sequence[Line], total: Line, who: str) -> None:
    """Raises WorkloadFailed where intervals do not follow one another, or leave out more of the total than iperf does.

    It prints no short interval at the end, and none in which there was nothing any more.
    """
    before = 0.0
    for one in found:
        if abs(one.start - before) > ROUNDING:
            raise WorkloadFailed(
                f"the iperf {who} printed an interval from {one.start:g} to {one.end:g} s behind one until {before:g} s"
            )
        before = one.end
    rest, seconds = total.size - sum(one.size for one in found), total.end - before
    if rest < 0 or seconds < -ROUNDING or (rest and seconds > PARTIAL + ROUNDING):
        raise WorkloadFailed(f"the iperf {who} printed no interval of the last {seconds:g} s, with {rest:g} B")


def throughput(found: Sequence[Line]) -> float:
    """Bits a second of all streams, from the first moment to the end of the last of them."""
    if len(found) == 1:
        return found[0].rate
    # The rate has more digits than the time.
    longest_of_all = max((8 * one.size / one.rate for one in found if one.rate), default=0.0)
    return 8 * sum(one.size for one in found) / longest_of_all if longest_of_all else 0.0


def intervals(printed: Printed) -> dict[float, list[Line]]:
    """The lines of all streams in each interval, by the seconds at which it starts."""
    found: dict[float, list[Line]] = {}
    for of_stream in printed.streams.values():
        # The last line is the total, unless there is no other one.
        for one in of_stream[: max(1, len(of_stream) - (of_stream[-1].start == 0))]:
            if one.end - one.start >= REST or len(of_stream) == 1:
                found.setdefault(one.start, []).append(one)
    return dict(sorted(found.items()))


def series(printed: Printed) -> list[Sample]:
    """The throughput of all streams together in each interval."""
    samples = []
    for start, found in intervals(printed).items():
        longest_of_all = max(one.end for one in found) - start
        if longest_of_all > 0:
            samples.append(Sample("throughput", 8 * sum(one.size for one in found) / longest_of_all, start))
    return samples


def _last_words(text: str) -> str:
    """The last line that is not about a stream, such as an error."""
    words = [line for line in text.splitlines() if line.strip() and line[0] not in "[-"]
    return words[-1][:200] if words else ""


def _has_totals(printed: Printed, streams: int) -> bool:
    return sum(one.start == 0 for one in printed.totals) >= streams
