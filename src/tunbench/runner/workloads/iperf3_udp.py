"""UDP at a given rate by iperf3."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.workload import About, Load, Sample, Trial
from tunbench.runner.workloads.shared import arrivals
from tunbench.runner.workloads.shared.arrivals import NOTHING, Heard
from tunbench.runner.workloads.shared.iperf import iperf3, iperf3_report
from tunbench.runner.workloads.shared.iperf.iperf3_report import Interval, Total

ABOUT = About(
    name="iperf3-udp",
    summary="iperf3 over UDP at a given rate: throughput, jitter and loss at the receiver",
    options={
        "rate": Option(
            "rate", "50M", "bits a second that each stream sends, 0: as fast as it goes", low=1000, high=1e12, zero=True
        ),
        "length": Option("size", "1300", "payload of a datagram in bytes", low=16, high=65507),
        "duration": Option("seconds", "2", "whole seconds to send", low=1, high=86400),
        "parallel": iperf3.PARALLEL,
        "reverse": iperf3.REVERSE,
        "bidir": iperf3.BIDIR,
        "window": iperf3.WINDOW,
        "dscp": iperf3.DSCP,
    },
    metrics={
        "throughput": Metric(
            "bit/s",
            "payload that arrived; with a moment: in that second, at the receiver",
            more_is_better=True,
            main=True,
            followed=True,
            at_a_glance=True,
        ),
        "jitter": Metric(
            "s",
            "mean deviation of the transit time (RFC 1889, section 6.3.1); with a moment: by then",
            followed_over_options=True,
        ),
        "loss": Metric(
            "ratio", "datagrams that did not arrive", question=Question.LATE, followed=True, at_a_glance=True
        ),
        "out-of-order": Metric("count", "datagrams that arrived behind a later one", question=Question.LATE),
        **arrivals.METRICS,
    },
    programs={"iperf3": "iperf3"},
    version=("iperf3", "--version"),
)

MAX_COPIES = 10
"""Times that a datagram may arrive: iperf3 counts the copies as well, on the way back without telling."""


NOTHING_HEARD: Mapping[str, Heard] = MappingProxyType({})


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return float(options["duration"])


def load(options: Options) -> Load:
    """What it offers."""
    return Load(float(options["rate"]), int(options["parallel"]), reverse=bool(options["reverse"]))


def check(options: Options, given: Mapping[str, str]) -> None:
    """Raises ValueError where it is said twice who sends."""
    iperf3.direction(options)


def execute(trial: Trial) -> None:
    """Sends from the client to the server, back with `reverse`, or both ways at once with `bidir`."""
    options = trial.options
    parallel = ["--parallel", str(options["parallel"])] if options["parallel"] != 1 else []
    both = [trial.server, trial.client]
    window = ["--window", str(options["window"])] if options["window"] else []
    data, heard = iperf3.measure_udp(
        *(trial, _expected(options), both if options["bidir"] else [both[bool(options["reverse"])]]),
        *("--bitrate", f"{options['rate']:.0f}", "--length", str(options["length"])),
        # The order of arrival is known to the receiver alone: the client's own report has 0 for what it sent.
        *("--time", str(options["duration"]), *parallel, *window, *iperf3.direction(options)),
        *(*iperf3.marked(options), "--get-server-output"),
        server_arguments=("--json",),
    )
    names = (trial.client.name, trial.server.name) if options["bidir"] else None
    trial.samples += parse(data, bool(options["reverse"]), names, heard)
    for name, one in heard.items():
        trial.samples += arrivals.samples(one, name if names else "")


def _expected(options: Options) -> arrivals.Expected:
    """How long it sends, and about how many datagrams in each direction.

    As fast as it goes, no delays are told: to hear a share of the datagrams would take 6 % of what a core can send.
    """
    duration, rate, streams, length = (float(options[name]) for name in ("duration", "rate", "parallel", "length"))
    return arrivals.Expected(duration, duration * streams * rate / 8 / length)


class Jitter(NamedTuple):
    """A jitter, and the end of the time that it is of, in seconds."""

    seconds: float
    until: float


class Counted(NamedTuple):
    """Datagrams that were lost, and all, as a sum of the JSON counts them, and the part in percent of all sent."""

    lost: float
    packets: float
    percent: float
    sent: float


class Direction(NamedTuple):
    """What the receiver of a direction counted: bytes, datagrams of that length, jitter, and intervals with theirs.

    `lost` is what each sum says of lost datagrams, by its place, and `of_streams` what the streams say. Those that came
    twice count as late as well, so that there may be more of them than were sent.
    """

    received: Total
    sums: list[Total]
    length: float
    packets: float
    counted: Counted
    lost: dict[str, float]
    of_streams: float
    late: float
    jitter: Jitter
    intervals: list[Interval]
    jitters: list[Jitter]


def parse(
    data: dict[str, Any],
    reverse: bool = False,
    bidir: tuple[str, str] | None = None,
    heard: Mapping[str, Heard] = NOTHING_HEARD,
) -> list[Sample]:
    """The samples in the client's JSON with the server's in it. Raises WorkloadFailed.

    `bidir` are the names of client and server where both have sent: then each sample has the node that received. What
    was heard at a node counts where its receiver has stopped to count.
    """
    if bidir:
        client, server = (heard.get(name, NOTHING) for name in bidir)
        back = _back(data, bidir[0], iperf3_report.REVERSE_SUFFIX, client)
        return _there(data, bidir[1], server) + back
    [one] = heard.values() or [NOTHING]
    return _back(data, "", "", one) if reverse else _there(data, "", one)


def _there(data: dict[str, Any], receiver: str, heard: Heard) -> list[Sample]:
    """What the server received."""
    one, sent = consistent(read_there(data)), iperf3_report.consistent(iperf3_report.datagrams(data))
    if one.counted.packets > sent.packets:
        raise WorkloadFailed(f"iperf3 sent {sent.packets:g} datagrams and counted {one.counted.packets:g}")
    loss = sent.loss(heard)
    arrived = sent.received.size + sent.length * heard.late(sent.seen, sent.packets)
    # What came twice counts once. The sum of both has the seconds of the receiver.
    return samples(one, receiver, min(sent.sent.rate * (1 - loss), 8 * arrived / sent.sent.seconds), loss)


def _back(data: dict[str, Any], receiver: str, suffix: str, heard: Heard) -> list[Sample]:
    """What the client received until its time was over. The server goes on to send until it hears of that."""
    one = consistent(read_back(data, suffix))
    sent = iperf3_report.whole(data, "end", f"sum_sent{suffix}", "packets")
    missing = one.counted.lost + sent - one.counted.packets
    loss = max(0.0, missing - heard.early - heard.late(one.counted.packets, sent)) / sent
    return samples(one, receiver, one.received.rate, loss)


def read_there(data: dict[str, Any]) -> Direction:
    """What the server tells in the client's JSON. Raises WorkloadFailed."""
    streams = iperf3_report.receiving(data, "server_output_json", "end", "streams")
    received = iperf3_report.total(data, "end", "sum_received")
    return _direction(data, "", "sum", received, data["server_output_json"], streams)


def read_back(data: dict[str, Any], suffix: str) -> Direction:
    """What the client tells of what it received; the suffix is that of the sums. Raises WorkloadFailed."""
    streams = iperf3_report.receiving(data, "end", "streams")
    received = iperf3_report.received_back(data, suffix)
    return _direction(data, suffix, f"sum_received{suffix}", received, data, streams)


def _direction(
    data: dict[str, Any], suffix: str, place: str, received: Total, report: Any, streams: Sequence[Any]
) -> Direction:
    """A direction whose receiver counts in the sum at a place, and tells of intervals and streams in its report."""
    sums = (f"sum{suffix}", f"sum_received{suffix}")
    intervals = iperf3_report.intervals(report, f"sum{suffix}")
    counted = [
        *(iperf3_report.whole(data, "end", place, name) for name in ("lost_packets", "packets")),
        iperf3_report.number(data, "end", place, "lost_percent"),
        iperf3_report.whole(data, "end", f"sum{suffix}", "packets"),
    ]
    return Direction(
        received,
        [iperf3_report.total(data, "end", name) for name in (sums[1], f"sum_sent{suffix}")],
        iperf3_report.length(data),
        iperf3_report.whole(data, "end", sums[1], "packets"),
        Counted(*counted),
        {name: iperf3_report.whole(data, "end", name, "lost_packets") for name in sums},
        sum(iperf3_report.whole(one, "udp", "lost_packets") for one in streams),
        iperf3_report.late(streams),
        _jitter(data, "end", place),
        intervals,
        [_jitter(one.report, f"sum{suffix}") for one in intervals],
    )


def consistent(one: Direction) -> Direction:
    """The same, where sums, streams and intervals agree. Raises WorkloadFailed."""
    iperf3_report.check_rates(*one.sums)
    _check_counted(one.counted)
    for place, lost in one.lost.items():
        if lost != one.of_streams:
            raise WorkloadFailed(
                f"iperf3 counted {lost:g} datagrams lost at end.{place}, and {one.of_streams:g} of its streams"
            )
    iperf3_report.check_time(one.received)
    iperf3_report.check_filling(one.intervals, one.received)
    for jitter in (one.jitter, *one.jitters):
        if jitter.seconds > jitter.until:
            raise WorkloadFailed(f"iperf3 counted a jitter of {jitter.seconds:g} s within {jitter.until:g} s")
    size = one.received.size
    if one.late * one.length > size:
        raise WorkloadFailed(f"iperf3 counted {one.late:g} datagrams of {one.length:g} B out of order in {size:g} B")
    iperf3_report.check_room(one.length, size, MAX_COPIES * one.packets)
    return one


def samples(one: Direction, receiver: str, rate: float, loss: float) -> list[Sample]:
    """The samples of a direction, of which so many bit/s arrived. An interval may be too short to say anything."""
    found = []
    for interval, jitter in zip(one.intervals, one.jitters, strict=True):
        at = round(interval.begin, 3)
        if interval.total.seconds >= iperf3_report.REST:
            found.append(Sample("throughput", interval.total.rate, at, receiver))
            found.append(Sample("jitter", jitter.seconds, at, receiver))
    values = {"throughput": rate, "jitter": one.jitter.seconds, "loss": loss, "out-of-order": one.late}
    return [*found, *(Sample(metric, value, None, receiver) for metric, value in values.items())]


def _check_counted(counted: Counted) -> None:
    """Raises WorkloadFailed where more were lost than there were, or the percentage is not that of those sent."""
    lost, packets, percent, sent = counted
    if packets < 1 or lost > packets:
        raise WorkloadFailed(f"iperf3 counted {lost:g} lost of {packets:g} datagrams")
    # It is of those that were sent even where some were still on their way.
    if not math.isclose(percent * sent, 100 * lost, rel_tol=1e-6):
        raise WorkloadFailed(f"iperf3 counted {lost:g} lost of {sent:g} datagrams as {percent:g} %")


def _jitter(data: Any, *path: str) -> Jitter:
    """The jitter of a sum. Raises WorkloadFailed."""
    return Jitter(iperf3_report.number(data, *path, "jitter_ms") / 1000, iperf3_report.number(data, *path, "end"))
