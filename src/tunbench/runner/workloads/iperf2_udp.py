"""UDP at a given rate by iperf 2."""

import re

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.workload import About, Sample, Trial
from tunbench.runner.workloads.shared import iperf2

ABOUT = About(
    name="iperf2-udp",
    summary="iperf 2 over UDP at a given rate: throughput, jitter and loss at the receiver",
    options={
        "rate": Option("rate", "50M", "bits a second that each stream sends", low=1000, high=1e12),
        "length": Option("size", "1300", "payload of a datagram in bytes", low=100, high=65507),
        "duration": iperf2.DURATION,
        "bytes": iperf2.BYTES,
        "parallel": iperf2.PARALLEL,
        "window": iperf2.WINDOW,
    },
    metrics={
        "throughput": Metric(
            "bit/s",
            "payload that arrived; with a moment: in that second, at the receiver",
            more_is_better=True,
            main=True,
        ),
        "jitter": Metric("s", "mean deviation of the transit time (RFC 1889, section 6.3.1), in whole µs"),
        "loss": Metric("ratio", "datagrams that did not arrive", question=Question.LATE),
        "out-of-order": Metric("count", "datagrams that arrived behind a later one", question=Question.LATE),
    },
    programs=("iperf",),
    packages=("iperf",),
    version=("iperf", "--version"),
)

SENT = re.compile(r"^\[ *\d{1,6}\] Sent (\d{1,15}) datagrams", re.ASCII | re.MULTILINE)
ARRIVED = re.compile(r" pps +(\d{1,15})/", re.ASCII)
RECEIVER = re.compile(r" +(\d{1,9}\.\d{3}) ms +(\d{1,15})/ *(\d{1,15}) \((\S{1,12})%\)", re.ASCII)
LATE = r"^\[ *{stream}\] 0\.0000-{end:.4f} sec +(\d{{1,15}}) datagrams received out-of-order"


ENDS = 200
"""Times that the last datagram of a stream is sent again at most: iperf 2.1, src/Client.cpp, RETRYCOUNT."""


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return max(iperf2.expected(options), _by_rate(options))


def execute(trial: Trial) -> None:
    """Sends from the client to the server."""
    options = trial.options
    common = ["--udp", "--len", str(options["length"])]
    if options["window"]:
        common += ["--window", str(options["window"])]
    arguments = ["--bandwidth", f"{options['rate']:.0f}", *iperf2.amount(options)]
    arguments += ["--parallel", str(options["parallel"])]
    limit = max(iperf2.longest(options), 2 * _by_rate(options))
    client, server = iperf2.measure(trial, limit, common, arguments)
    trial.samples += parse(client, server, int(options["parallel"]))


def parse(client: str, server: str, streams: int = 1) -> list[Sample]:
    """The samples in what client and server printed. Raises WorkloadFailed, also where datagrams are missing."""
    received = iperf2.totals(server, streams, "server")
    found = [_counted(one) for one in received]
    lost, packets = (sum(one[place] for one in found) for place in (1, 2))
    # iperf 2.1.8 counts one datagram more than each stream sends.
    sent = sum(int(one) - 1 for one in SENT.findall(client))
    # A datagram that ends a stream is sent again until it is answered, and the server counts those that did not arrive.
    ends = packets - sent
    if sent < 1 or not 0 <= ends <= ENDS * streams or not ends <= lost <= packets:
        raise WorkloadFailed(f"iperf counted {lost:g} lost of {packets:g} datagrams, and had sent {sent:g}")
    return [
        Sample("throughput", iperf2.throughput(received)),
        Sample("jitter", sum(jitter for jitter, _, _ in found) / streams),
        Sample("loss", (lost - ends) / sent),
        Sample("out-of-order", sum(_late(server, one) for one in received)),
        *iperf2.series(server),
    ]


def _counted(line: iperf2.Line) -> tuple[float, float, float]:
    """Jitter in seconds, lost datagrams, and all."""
    found = RECEIVER.match(line.rest)
    if not found:
        raise WorkloadFailed(f"the iperf server printed no count of datagrams: {line.rest.strip()[:80]!r}")
    lost, packets = float(found[2]), float(found[3])
    if packets and found[4] != f"{100 * lost / packets:.2g}":
        raise WorkloadFailed(f"the iperf server counted {lost:g} lost of {packets:g} datagrams as {found[4]} %")
    return float(found[1]) / 1000, lost, packets


def _late(server: str, total: iperf2.Line) -> float:
    """How many datagrams of a stream came behind a later one: there is a line for it where there were any.

    Those that came twice count as well, so that there may be more than were sent.
    """
    found = re.search(LATE.format(stream=total.stream, end=total.end), server, re.ASCII | re.MULTILINE)
    if not found:
        return 0.0
    arrived = ARRIVED.search(total.rest)
    if not arrived or float(found[1]) > float(arrived[1]):
        of = arrived[1] if arrived else "no"
        raise WorkloadFailed(f"the iperf server counted {found[1]} datagrams out of order of {of} that arrived")
    return float(found[1])


def _by_rate(options: Options) -> float:
    """Seconds that the bytes of a stream take at the rate that was asked for."""
    return 8 * float(options["bytes"]) / float(options["rate"])
