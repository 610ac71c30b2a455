"""TCP throughput by iperf3."""

from typing import Any

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.node import json_output
from tunbench.runner.workload import About, Sample, Trial
from tunbench.runner.workloads.shared import congestion_control, iperf3

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
        "zerocopy": Option("switch", "off", "send without copying, by sendfile"),
    },
    metrics={
        "throughput": Metric(
            "bit/s",
            "payload that arrived; with a moment: in that second, as the client counts it",
            more_is_better=True,
            main=True,
        ),
        "retransmits": Metric(
            "count", "TCP segments sent again; with a moment: in that second", question=Question.FAST
        ),
        "cwnd": Metric(
            "B",
            "congestion window of each stream of the client, each second",
            more_is_better=None,
            question=Question.FAST,
        ),
        "tcp-rtt": Metric("s", "round-trip time that TCP has smoothed (RFC 6298), as cwnd"),
    },
    programs=("iperf3",),
    packages=("iperf3",),
    version=("iperf3", "--version"),
)


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return iperf3.expected(options)


def check(options: Options) -> None:
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
    data = iperf3.measure(trial, iperf3.longest(options), *arguments)
    _require(algorithm, data)
    samples = parse(data, (trial.client.name, trial.server.name) if options["bidir"] else None)
    if options["bytes"]:
        _require_arrival(samples)
    trial.samples += samples


def parse(data: dict[str, Any], bidir: tuple[str, str] | None = None) -> list[Sample]:
    """The samples in the client's JSON; those of its intervals carry their moment. Raises WorkloadFailed.

    `bidir` are the names of client and server where both have sent: then each sample has the node of its direction.
    """
    if bidir is None:
        return _direction(data, "", "", "")
    client, server = bidir
    return _direction(data, "", client, server) + _direction(data, iperf3.BACK, server, client)


def _direction(data: dict[str, Any], suffix: str, sender: str, receiver: str) -> list[Sample]:
    """What one direction has; the suffix is that of its sums in the JSON."""
    received, sent = (iperf3.total(data, "end", f"sum_{done}{suffix}") for done in ("received", "sent"))
    if received.size > sent.size:
        raise WorkloadFailed(f"iperf3 sent {sent.size:.0f} B, and {received.size:.0f} B arrived")
    retransmits = iperf3.whole(data, "end", f"sum_sent{suffix}", "retransmits")
    if retransmits > sent.size:
        raise WorkloadFailed(f"iperf3 sent {sent.size:.0f} B, and {retransmits:.0f} segments of it again")
    back = bool(suffix) or bool(iperf3.number(data, "start", "test_start", "reverse"))
    mine = iperf3.received_back(data, suffix) if back else sent
    intervals = iperf3.filling(data, f"sum{suffix}", mine.size, mine.seconds)
    servers = sent if back else received
    # Later than that it could not have told the client.
    if not mine.seconds - iperf3.APART <= servers.seconds <= mine.seconds + iperf3.PATIENCE:
        raise WorkloadFailed(f"iperf3's server counted {servers.seconds:g} s of a test of {mine.seconds:g} s")
    samples = [
        Sample("throughput", mine.rate if back else received.rate, None, receiver),
        Sample("retransmits", retransmits, None, sender),
    ]
    _require_streams(data, retransmits, suffix)
    _require_all(retransmits, intervals, suffix)
    for one in intervals:
        at = round(one.begin, 3)
        samples.append(Sample("throughput", one.total.rate, at, receiver))
        # Only the sender knows the state of TCP, and of the two only the client tells it as it goes on.
        if not suffix and "retransmits" in one.report["sum"]:
            samples += _state(one.report, at, sender)
    return samples


def _require_streams(data: dict[str, Any], retransmits: float, suffix: str) -> None:
    """Raises WorkloadFailed where the streams of a direction have other retransmits than it."""
    streams = [json_output.at(one, "sender") for one in iperf3.items(data, "end", "streams")]
    mine = json_output.at(data, "end", f"sum_sent{suffix}", "sender")
    counted = sum(iperf3.whole(one, "retransmits") for one in streams if json_output.at(one, "sender") == mine)
    if counted != retransmits:
        raise WorkloadFailed(f"iperf3 sent {retransmits:.0f} segments again, and {counted:.0f} of its streams")


def _require_all(retransmits: float, intervals: list[iperf3.Interval], suffix: str) -> None:
    """Raises WorkloadFailed where the intervals have more retransmits than the whole test."""
    sums = [one.report["sum"] for one in intervals if not suffix]
    counted = sum(iperf3.whole(one, "retransmits") for one in sums if "retransmits" in one)
    if counted > retransmits:
        raise WorkloadFailed(f"iperf3 sent {counted:.0f} segments again in the intervals, and {retransmits:.0f} in all")


def _state(interval: dict[str, Any], at: float, sender: str) -> list[Sample]:
    """What the client's TCP tells of its streams in an interval."""
    samples = [Sample("retransmits", iperf3.whole(interval, "sum", "retransmits"), at, sender)]
    for stream in iperf3.items(interval, "streams"):
        if isinstance(stream, dict) and stream.get("sender") is not False:
            samples.append(Sample("cwnd", iperf3.number(stream, "snd_cwnd"), at, sender))
            samples.append(Sample("tcp-rtt", iperf3.number(stream, "rtt") / 1e6, at, sender))
    return samples


def _require(algorithm: str, data: dict[str, Any]) -> None:
    """Raises WorkloadFailed where a congestion control was asked for and the sender had another one."""
    had = data.get("end", {}).get("sender_tcp_congestion") if isinstance(data.get("end"), dict) else None
    if algorithm and had != algorithm:
        raise WorkloadFailed(f"the sender used the congestion control {had!r:.40} instead of {algorithm}")


def _require_arrival(samples: list[Sample]) -> None:
    """Raises WorkloadFailed where nothing had arrived: iperf3 ends a test as soon as all has been written."""
    if any(one.metric == "throughput" and one.at is None and one.value == 0 for one in samples):
        raise WorkloadFailed("iperf3 ended before anything had arrived: so few bytes fit into the sender's buffer")
