"""TCP throughput by iperf 2."""

import re

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.workload import About, Load, Sample, Trial
from tunbench.runner.workloads.shared import congestion_control
from tunbench.runner.workloads.shared.iperf import iperf2
from tunbench.runner.workloads.shared.output_bounds import COUNT

ABOUT = About(
    name="iperf2-tcp",
    summary="iperf 2 over TCP: throughput at the receiver, retransmits, congestion window and round-trip time",
    options={
        "duration": iperf2.DURATION,
        "bytes": iperf2.BYTES,
        "parallel": iperf2.PARALLEL,
        "window": iperf2.WINDOW,
        # The kernel takes no less: TCP_MIN_MSS in Linux 6.1, include/net/tcp.h.
        "mss": Option(
            "size", "0", "TCP maximum segment size in bytes, 0: as the system has it", low=88, high=9216, zero=True
        ),
        "length": Option("size", "0", "bytes of one write, 0: 128 KiB", low=100, high=1 << 20, zero=True),
        "congestion": congestion_control.OPTION,
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
        "retransmits": Metric(
            "count", "TCP segments sent again; with a moment: in that second", question=Question.FAST
        ),
        "cwnd": Metric(
            "B",
            "congestion window of each stream in whole KiB, each second",
            more_is_better=None,
            question=Question.FAST,
        ),
        "tcp-rtt": Metric("s", "round-trip time that TCP has smoothed (RFC 6298), each stream and second"),
    },
    programs={"iperf": "iperf"},
    version=("iperf", "--version"),
)

SENDER = re.compile(rf" +\d+/\d+ +({COUNT}) +(?:NA|({COUNT})K)/({COUNT})\(\d+\) us\b", re.ASCII)
"""What the client prints of a stream's TCP: retransmits, congestion window in KiB, round-trip time in µs."""


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return iperf2.expected(options)


def load(options: Options) -> Load:
    """What it offers."""
    return Load(flows=int(options["parallel"]), size=float(options["bytes"]))


def execute(trial: Trial) -> None:
    """Sends from the client to the server."""
    options = trial.options
    common = ["--window", str(options["window"])] if options["window"] else []
    arguments = [*iperf2.amount(options), "--parallel", str(options["parallel"])]
    if options["mss"]:
        arguments += ["--mss", str(options["mss"])]
    if options["length"]:
        arguments += ["--len", str(options["length"])]
    if algorithm := congestion_control.chosen(trial):
        arguments += ["--tcp-congestion", algorithm]
    client, server = iperf2.measure(trial, iperf2.longest(options), common, arguments)
    trial.samples += parse(client, server, int(options["parallel"]))


def parse(client: str, server: str, streams: int = 1) -> list[Sample]:
    """The samples in what client and server printed. Raises WorkloadFailed, also where bytes are missing."""
    sent = iperf2.consistent(iperf2.read(client), streams, "client")
    received = iperf2.consistent(iperf2.read(server), streams, "server")
    if sent.size != received.size:
        raise WorkloadFailed(f"iperf sent {sent.size:.0f} B, and {received.size:.0f} B arrived")
    samples = [
        Sample("throughput", iperf2.throughput(received.totals)),
        Sample("retransmits", sum(_state(one)[0] for one in sent.totals)),
        *iperf2.series(received),
    ]
    for at, found in iperf2.intervals(sent).items():
        states = [_state(one) for one in found]
        samples.append(Sample("retransmits", sum(retransmits for retransmits, _, _ in states), at))
        samples += [Sample("cwnd", window, at) for _, window, _ in states if window is not None]
        samples += [Sample("tcp-rtt", rtt, at) for _, _, rtt in states]
    return samples


def _state(line: iperf2.Line) -> tuple[float, float | None, float]:
    """Retransmits, congestion window in bytes if it was known, and round-trip time in seconds."""
    found = SENDER.match(line.rest)
    if not found:
        raise WorkloadFailed(f"the iperf client printed no state of TCP: {line.rest.strip()[:80]!r}")
    return float(found[1]), float(found[2]) * 1024 if found[2] else None, float(found[3]) / 1e6
