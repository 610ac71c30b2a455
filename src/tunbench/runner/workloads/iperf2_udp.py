"""UDP at a given rate by iperf 2."""

import re
from typing import NamedTuple

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.workload import About, Load, Sample, Trial
from tunbench.runner.workloads.shared import arrivals
from tunbench.runner.workloads.shared.arrivals import NOTHING, Heard
from tunbench.runner.workloads.shared.iperf import iperf2
from tunbench.runner.workloads.shared.output_bounds import COUNT, IDENTIFIER, SECONDS

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
            followed=True,
            at_a_glance=True,
        ),
        "jitter": Metric(
            "s", "mean deviation of the transit time (RFC 1889, section 6.3.1), in whole µs", followed_over_options=True
        ),
        "loss": Metric(
            "ratio", "datagrams that did not arrive", question=Question.LATE, followed=True, at_a_glance=True
        ),
        "out-of-order": Metric("count", "datagrams that arrived behind a later one", question=Question.LATE),
        **arrivals.METRICS,
    },
    programs={"iperf": "iperf"},
    version=("iperf", "--version"),
)

SENT = re.compile(rf"^\[ *{IDENTIFIER}\] Sent ({COUNT}) datagrams", re.ASCII | re.MULTILINE)
ARRIVED = re.compile(rf" pps +({COUNT})/", re.ASCII)
RECEIVER = re.compile(rf" +({SECONDS}\.\d{{3}}) ms +({COUNT})/ *({COUNT}) \((\S{{1,12}})%\)", re.ASCII)
LATE = r"^\[ *{stream}\] 0\.0000-{end:.4f} sec +(\d{{1,15}}) datagrams received out-of-order"

MAX_LAST_DATAGRAMS = 200
"""Times that the last datagram of a stream is sent again at most: iperf 2.1, src/Client.cpp, RETRYCOUNT."""


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return max(iperf2.expected(options), _by_rate(options))


def load(options: Options) -> Load:
    """What it offers."""
    return Load(float(options["rate"]), int(options["parallel"]), float(options["bytes"]))


def execute(trial: Trial) -> None:
    """Sends from the client to the server."""
    options = trial.options
    common = ["--udp", "--len", str(options["length"])]
    if options["window"]:
        common += ["--window", str(options["window"])]
    arguments = ["--bandwidth", f"{options['rate']:.0f}", *iperf2.amount(options)]
    arguments += ["--parallel", str(options["parallel"])]
    limit = max(iperf2.longest(options), 2 * _by_rate(options))
    ear = arrivals.Ear(trial.server, True, trial.port(iperf2.PORT), "iperf2", int(options["length"]))
    with arrivals.heard(trial, [ear], _expected(options)):
        client, server = iperf2.measure(trial, limit, common, arguments)
    heard = arrivals.parse(trial.outputs[arrivals.output(trial.server.name)])
    trial.samples += parse(client, server, int(options["parallel"]), heard)
    trial.samples += arrivals.samples(heard)


def _expected(options: Options) -> arrivals.Expected:
    """How long it sends at least, and how many datagrams at most."""
    lasting, length, streams = (float(options[name]) for name in ("duration", "length", "parallel"))
    size = float(options["bytes"]) or lasting * float(options["rate"]) / 8
    return arrivals.Expected(_by_rate(options) or lasting, streams * size / length)


class Counted(NamedTuple):
    """What the server counted of a stream: jitter in seconds, lost datagrams, all, the share of those, and late ones.

    What came twice counts as late as well, so that there may be more late ones than were sent.
    """

    jitter: float
    lost: float
    packets: float
    share: str
    late: float
    arrived: float


def parse(client: str, server: str, streams: int = 1, heard: Heard = NOTHING) -> list[Sample]:
    """The samples in what client and server printed. Raises WorkloadFailed, also where datagrams are missing.

    What was heard behind the datagram that ends a stream is not lost: the server has stopped to count.
    """
    received = iperf2.consistent(iperf2.read(server), streams, "server")
    counted = [consistent(read(one, server)) for one in received.totals]
    # iperf 2.1.8 counts one datagram more than each stream sends.
    sent = sum(int(one) - 1 for one in SENT.findall(client))
    lost, packets = sum(one.lost for one in counted), sum(one.packets for one in counted)
    # A datagram that ends a stream is sent again until it is answered, and the server counts those that did not arrive.
    ends = packets - sent
    if sent < 1 or not 0 <= ends <= MAX_LAST_DATAGRAMS * streams or not ends <= lost <= packets:
        raise WorkloadFailed(f"iperf counted {lost:g} lost of {packets:g} datagrams, and had sent {sent:g}")
    return [
        Sample("throughput", iperf2.throughput(received.totals)),
        Sample("jitter", sum(one.jitter for one in counted) / streams),
        Sample("loss", max(0.0, lost - ends - heard.behind_end()) / sent),
        Sample("out-of-order", sum(one.late for one in counted)),
        *iperf2.series(received),
    ]


def read(total: iperf2.Line, server: str) -> Counted:
    """What the server printed of a stream that has this total. Raises WorkloadFailed where it printed no count."""
    found = RECEIVER.match(total.rest)
    if not found:
        raise WorkloadFailed(f"the iperf server printed no count of datagrams: {total.rest.strip()[:80]!r}")
    # There is a line for late datagrams where there were any.
    late = re.search(LATE.format(stream=total.stream, end=total.end), server, re.ASCII | re.MULTILINE)
    arrived = ARRIVED.search(total.rest)
    return Counted(
        float(found[1]) / 1000,
        float(found[2]),
        float(found[3]),
        found[4],
        float(late[1]) if late else 0.0,
        float(arrived[1]) if arrived else 0.0,
    )


def consistent(counted: Counted) -> Counted:
    """The same, where the share is that of the counts, and no more came late than arrived. Raises WorkloadFailed."""
    lost, packets = counted.lost, counted.packets
    if packets and counted.share != f"{100 * lost / packets:.2g}":
        raise WorkloadFailed(f"the iperf server counted {lost:g} lost of {packets:g} datagrams as {counted.share} %")
    if counted.late > counted.arrived:
        raise WorkloadFailed(
            f"the iperf server counted {counted.late:.0f} datagrams out of order of {counted.arrived:.0f} that arrived"
        )
    return counted


def _by_rate(options: Options) -> float:
    """Seconds that the bytes of a stream take at the rate that was asked for."""
    return 8 * float(options["bytes"]) / float(options["rate"])
