"""TCP throughput by iperf3."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.node import json_output
from tunbench.runner.workload import About, Load, Sample, Trial
from tunbench.runner.workloads.shared import congestion_control
from tunbench.runner.workloads.shared.iperf import iperf3, iperf3_report
from tunbench.runner.workloads.shared.iperf.iperf3_report import Interval, Total

ABOUT = About(
    name="iperf3-tcp",
    summary="iperf3 over TCP: throughput at the receiver, retransmits, congestion window and round-trip time",
    options={
        "duration": Option("seconds", "2", "whole seconds to send", low=1, high=86400),
        "bytes": iperf3.BYTES,
        "parallel": iperf3.PARALLEL,
        "reverse": iperf3.REVERSE,
        "bidir": iperf3.BIDIR,
        # The kernel takes no less: TCP_MIN_MSS in Linux 6.1, include/net/tcp.h.
        "mss": Option(
            "size", "0", "TCP maximum segment size in bytes, 0: as the system has it", low=88, high=9216, zero=True
        ),
        "congestion": congestion_control.OPTION,
        "window": iperf3.WINDOW,
        "length": Option("size", "0", "bytes of one write, 0: 128 KiB", low=1, high=1 << 20, zero=True),
        "dscp": iperf3.DSCP,
        "zerocopy": Option("switch", "off", "send without copying, by sendfile"),
    },
    metrics={
        "throughput": Metric(
            "bit/s",
            "payload that arrived; with a moment: in that second, as the client counts it",
            more_is_better=True,
            main=True,
            followed=True,
            at_a_glance=True,
        ),
        "sent": Metric(
            "bit/s",
            "payload that the sender handed to TCP, over the time that it took, whether it has arrived or not",
            more_is_better=None,
        ),
        "retransmits": Metric(
            "count", "TCP segments sent again; with a moment: in that second", question=Question.FAST
        ),
        "resent": Metric("ratio", "segments sent again, of all that were sent", question=Question.FAST),
        "cwnd": Metric(
            "B",
            "congestion window of each stream of the client, each second",
            more_is_better=None,
            question=Question.FAST,
        ),
        "tcp-rtt": Metric("s", "round-trip time that TCP has smoothed (RFC 6298), as cwnd"),
    },
    programs={"iperf3": "iperf3"},
    version=("iperf3", "--version"),
)


SERVER_HEAD_START = 0.5
"""Seconds by which the server's time may be shorter than the client's: each begins by itself."""


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return iperf3.expected(options)


def load(options: Options) -> Load:
    """What it offers."""
    return Load(flows=int(options["parallel"]), size=float(options["bytes"]), reverse=bool(options["reverse"]))


def check(options: Options, given: Mapping[str, str]) -> None:
    """Raises ValueError where it is said twice who sends."""
    iperf3.direction(options)


def execute(trial: Trial) -> None:
    """Sends from the client to the server, back with `reverse`, or both ways at once with `bidir`."""
    options = trial.options
    arguments = [*iperf3.amount(options), "--parallel", str(options["parallel"]), *iperf3.direction(options)]
    if options["mss"]:
        arguments += ["--set-mss", str(options["mss"])]
    if algorithm := congestion_control.chosen(trial):
        arguments += ["--congestion", algorithm]
    if options["window"]:
        arguments += ["--window", str(options["window"])]
    if options["length"]:
        arguments += ["--length", str(options["length"])]
    if options["zerocopy"]:
        arguments.append("--zerocopy")
    data = iperf3.measure(trial, iperf3.longest(options), *arguments, *iperf3.marked(options))
    _check_algorithm(algorithm, data)
    found = parse(data, (trial.client.name, trial.server.name) if options["bidir"] else None)
    if options["bytes"]:
        _check_arrival(found)
    trial.samples += found


LEAST_SEGMENT, LARGEST_SEGMENT = 48, 65535
"""Bytes of a full segment: Linux's TCP_MIN_SND_MSS (include/net/tcp.h), and the MSS option's 16 bits (RFC 9293)."""


class TcpState(NamedTuple):
    """What the client's TCP tells of an interval: retransmits; window in bytes and round-trip time in s by stream."""

    retransmits: float
    streams: list[tuple[float, float]]


class Direction(NamedTuple):
    """What one direction of a test has. It goes `back` where the server sends. A full segment has `segment` bytes.

    `client` is what the client counted of it. `unfinished` are the bytes at most that its streams had handed to TCP in
    writes that had not come to an end: iperf3 counts a write when it is done. Of each interval there is a state of TCP
    where the client sends: only the sender knows that, and of the two only the client tells it as it goes on.
    """

    back: bool
    sent: Total
    received: Total
    client: Total
    unfinished: float
    segment: float
    retransmits: float
    of_streams: float
    intervals: list[Interval]
    states: list[TcpState | None]


def parse(data: dict[str, Any], bidir: tuple[str, str] | None = None) -> list[Sample]:
    """The samples in the client's JSON; those of its intervals carry their moment. Raises WorkloadFailed.

    `bidir` are the names of client and server where both have sent: then each sample has the node of its direction.
    """
    if bidir is None:
        return samples(consistent(read(data, "")), "", "")
    client, server = bidir
    there, back = consistent(read(data, "")), consistent(read(data, iperf3_report.REVERSE_SUFFIX))
    return samples(there, client, server) + samples(back, server, client)


def read(data: dict[str, Any], suffix: str) -> Direction:
    """One direction; the suffix is that of its sums in the JSON. Raises WorkloadFailed."""
    received, sent = (iperf3_report.total(data, "end", f"sum_{done}{suffix}") for done in ("received", "sent"))
    back = bool(suffix) or bool(iperf3_report.number(data, "start", "test_start", "reverse"))
    intervals = iperf3_report.intervals(data, f"sum{suffix}")
    sender = json_output.value_at(data, "end", f"sum_sent{suffix}", "sender")
    ends = [json_output.value_at(one, "sender") for one in iperf3_report.items(data, "end", "streams")]
    streams = [one for one in ends if json_output.value_at(one, "sender") == sender]
    return Direction(
        back,
        sent,
        received,
        iperf3_report.received_back(data, suffix) if back else sent,
        iperf3_report.number(data, "start", "test_start", "blksize") * max(1, len(streams)),
        segment_size(data),
        iperf3_report.whole(data, "end", f"sum_sent{suffix}", "retransmits"),
        sum(iperf3_report.whole(one, "retransmits") for one in streams),
        intervals,
        [None if suffix else _state(one.report) for one in intervals],
    )


def segment_size(data: Any) -> float:
    """The bytes of a full segment, as asked for or as the client's first connection has it. Raises WorkloadFailed."""
    asked = isinstance(data.get("start"), dict) and "tcp_mss" in data["start"]
    size = iperf3_report.whole(data, "start", "tcp_mss" if asked else "tcp_mss_default")
    if not LEAST_SEGMENT <= size <= LARGEST_SEGMENT:
        raise WorkloadFailed(f"iperf3 told of segments of {size:.0f} B")
    return size


def consistent(one: Direction) -> Direction:
    """The same, where its sums, intervals and streams agree. Raises WorkloadFailed."""
    sent, received, client = one.sent, one.received, one.client
    iperf3_report.check_rates(received, sent)
    handed = sent.size + one.unfinished
    if received.size > handed:
        raise WorkloadFailed(f"iperf3 sent {sent.size:.0f} B, and {received.size:.0f} B arrived")
    if one.retransmits > handed:
        raise WorkloadFailed(f"iperf3 sent {sent.size:.0f} B, and {one.retransmits:.0f} segments of it again")
    if one.back:
        iperf3_report.check_time(client)
    iperf3_report.check_filling(one.intervals, client)
    server = sent if one.back else received
    # Later than that it could not have told the client.
    if not client.seconds - SERVER_HEAD_START <= server.seconds <= client.seconds + iperf3.CLIENT_GRACE:
        raise WorkloadFailed(f"iperf3's server counted {server.seconds:g} s of a test of {client.seconds:g} s")
    if one.of_streams != one.retransmits:
        raise WorkloadFailed(
            f"iperf3 sent {one.retransmits:.0f} segments again, and {one.of_streams:.0f} of its streams"
        )
    counted = sum(state.retransmits for state in one.states if state)
    if counted > one.retransmits:
        raise WorkloadFailed(
            f"iperf3 sent {counted:.0f} segments again in the intervals, and {one.retransmits:.0f} in all"
        )
    return one


def samples(one: Direction, sender: str, receiver: str) -> list[Sample]:
    """The samples of a direction, with the nodes of its ends."""
    found = [
        Sample("throughput", one.client.rate if one.back else one.received.rate, None, receiver),
        Sample("sent", one.sent.rate, None, sender),
        Sample("retransmits", one.retransmits, None, sender),
        Sample("resent", resent(one), None, sender),
    ]
    for interval, state in zip(one.intervals, one.states, strict=True):
        at = round(interval.begin, 3)
        found.append(Sample("throughput", interval.total.rate, at, receiver))
        found += [Sample("retransmits", state.retransmits, at, sender)] if state else []
        for window, rtt in state.streams if state else ():
            found += [Sample("cwnd", window, at, sender), Sample("tcp-rtt", rtt, at, sender)]
    return found


def resent(one: Direction) -> float:
    """The segments that were sent again as a ratio of all: those that the payload fills, and they themselves."""
    segments = math.ceil(one.sent.size / one.segment) + one.retransmits
    return one.retransmits / segments if segments else 0.0


def _state(interval: dict[str, Any]) -> TcpState | None:
    """What the client's TCP tells of its streams in an interval, if it is the sender."""
    if "retransmits" not in interval["sum"]:
        return None
    mine = [one for one in iperf3_report.items(interval, "streams") if json_output.value_at(one, "sender") is not False]
    streams = [(iperf3_report.number(one, "snd_cwnd"), iperf3_report.number(one, "rtt") / 1e6) for one in mine]
    return TcpState(iperf3_report.whole(interval, "sum", "retransmits"), streams)


def _check_algorithm(algorithm: str, data: dict[str, Any]) -> None:
    """Raises WorkloadFailed where a congestion control was asked for and the sender had another one."""
    had = data.get("end", {}).get("sender_tcp_congestion") if isinstance(data.get("end"), dict) else None
    if algorithm and had != algorithm:
        raise WorkloadFailed(f"the sender used the congestion control {had!r:.40} instead of {algorithm}")


def _check_arrival(samples: list[Sample]) -> None:
    """Raises WorkloadFailed where nothing had arrived: iperf3 ends a test as soon as all has been written."""
    if any(one.metric == "throughput" and one.at is None and one.value == 0 for one in samples):
        raise WorkloadFailed("iperf3 ended before anything had arrived: so few bytes fit into the sender's buffer")
