"""UDP at a given rate by iperf3."""

import math
from typing import Any

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.workload import About, Sample, Trial
from tunbench.runner.workloads.shared import iperf3

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
    },
    metrics={
        "throughput": Metric(
            "bit/s",
            "payload that arrived; with a moment: in that second, at the receiver",
            more_is_better=True,
            main=True,
        ),
        "jitter": Metric("s", "mean deviation of the transit time (RFC 1889, section 6.3.1); with a moment: by then"),
        "loss": Metric("ratio", "datagrams that did not arrive", question=Question.LATE),
        "out-of-order": Metric("count", "datagrams that arrived behind a later one", question=Question.LATE),
    },
    programs=("iperf3",),
    packages=("iperf3",),
    version=("iperf3", "--version"),
)

COPIES = 10
"""Times that a datagram may arrive: iperf3 counts the copies as well, on the way back without telling."""


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return float(options["duration"])


def check(options: Options) -> None:
    """Raises ValueError where it is said twice who sends."""
    iperf3.direction(options)


def execute(trial: Trial) -> None:
    """Sends from the client to the server, back with `reverse`, or both ways at once with `bidir`."""
    options = trial.options
    parallel = ["--parallel", str(options["parallel"])] if options["parallel"] != 1 else []
    data = iperf3.measure_udp(
        trial,
        seconds(options),
        *("--bitrate", f"{options['rate']:.0f}", "--length", str(options["length"])),
        # The order of arrival is known to the receiver alone: the client's own report has 0 for what it sent.
        *("--time", str(options["duration"]), *parallel, *iperf3.direction(options), "--get-server-output"),
        server_arguments=("--json",),
    )
    names = (trial.client.name, trial.server.name) if options["bidir"] else None
    trial.samples += parse(data, bool(options["reverse"]), names)


def parse(data: dict[str, Any], reverse: bool = False, bidir: tuple[str, str] | None = None) -> list[Sample]:
    """The samples in the client's JSON with the server's in it. Raises WorkloadFailed.

    `bidir` are the names of client and server where both have sent: then each sample has the node that received.
    """
    if bidir:
        client, server = bidir
        return _there(data, server) + _back(data, client, iperf3.BACK)
    return _back(data, "", "") if reverse else _there(data, "")


def _there(data: dict[str, Any], receiver: str) -> list[Sample]:
    """What the server received."""
    streams = iperf3.receiving(data, "server_output_json", "end", "streams")
    _, packets = _lost(data, "sum")
    _, datagrams = iperf3.sent_datagrams(data)
    _require_same_loss(data, streams)
    if packets > datagrams:
        raise WorkloadFailed(f"iperf3 sent {datagrams:g} datagrams and counted {packets:g}")
    sent, arrived, loss = iperf3.arrival(data)
    return [
        *_series(_filled(data["server_output_json"], "sum", arrived), "sum", receiver),
        # What came twice counts once. The sum of both has the seconds of the receiver.
        Sample("throughput", min(sent.rate * (1 - loss), 8 * arrived.size / sent.seconds), None, receiver),
        Sample("jitter", _jitter(data, "end", "sum"), None, receiver),
        Sample("loss", loss, None, receiver),
        _out_of_order(data, streams, receiver),
    ]


def _back(data: dict[str, Any], receiver: str, suffix: str) -> list[Sample]:
    """What the client received until its time was over: what was still on its way is neither received nor lost.

    Nothing is on its way where nothing came any more.
    """
    arrived, streams = iperf3.received_back(data, suffix), iperf3.receiving(data, "end", "streams")
    lost, seen = _lost(data, "sum_received", suffix)
    _require_same_loss(data, streams, suffix)
    told = _filled(data, f"sum{suffix}", arrived)
    due = seen if told and told[-1].total.size else max(seen, _due(data, suffix, arrived.seconds))
    return [
        *_series(told, f"sum{suffix}", receiver),
        Sample("throughput", arrived.rate, None, receiver),
        Sample("jitter", _jitter(data, "end", f"sum_received{suffix}"), None, receiver),
        Sample("loss", (lost + due - seen) / due, None, receiver),
        _out_of_order(data, streams, receiver, suffix),
    ]


def _due(data: dict[str, Any], suffix: str, seconds: float) -> float:
    """How many datagrams the server had sent in so many seconds: it goes on until it hears that the client stopped."""
    sent = iperf3.whole(data, "end", f"sum_sent{suffix}", "packets")
    lasted = iperf3.total(data, "end", f"sum_{'received' if suffix else 'sent'}{suffix}").seconds
    return sent * min(1.0, seconds / lasted)


def _lost(data: dict[str, Any], sums: str, suffix: str = "") -> tuple[float, float]:
    """Lost datagrams, and all."""
    lost, packets = (iperf3.whole(data, "end", sums + suffix, name) for name in ("lost_packets", "packets"))
    if packets < 1 or lost > packets:
        raise WorkloadFailed(f"iperf3 counted {lost:g} lost of {packets:g} datagrams")
    # The percentage is of those that were sent, even where some were still on their way.
    sent = iperf3.whole(data, "end", f"sum{suffix}", "packets")
    percent = iperf3.number(data, "end", sums + suffix, "lost_percent")
    if not math.isclose(percent * sent, 100 * lost, rel_tol=1e-6):
        raise WorkloadFailed(f"iperf3 counted {lost:g} lost of {sent:g} datagrams as {percent:g} %")
    return lost, packets


def _require_same_loss(data: dict[str, Any], streams: list[Any], suffix: str = "") -> None:
    """Raises WorkloadFailed where the sums have lost other datagrams than the streams that the reporter received."""
    lost = sum(iperf3.whole(one, "udp", "lost_packets") for one in streams)
    for sums in (f"sum{suffix}", f"sum_received{suffix}"):
        counted = iperf3.whole(data, "end", sums, "lost_packets")
        if counted != lost:
            raise WorkloadFailed(
                f"iperf3 counted {counted:g} datagrams lost at end.{sums}, and {lost:g} of its streams"
            )


def _jitter(data: Any, *path: str) -> float:
    """The jitter of a sum in seconds. Raises WorkloadFailed where it is longer than the test until then."""
    jitter, end = iperf3.number(data, *path, "jitter_ms") / 1000, iperf3.number(data, *path, "end")
    if jitter > end:
        raise WorkloadFailed(f"iperf3 counted a jitter of {jitter:g} s within {end:g} s")
    return jitter


def _out_of_order(data: dict[str, Any], streams: list[Any], receiver: str, suffix: str = "") -> Sample:
    """The sum over the streams that the reporter received. Raises WorkloadFailed where fewer datagrams arrived.

    Those that came twice count as well, so that there may be more than were sent.
    """
    late = sum(iperf3.whole(one, "udp", "out_of_order") for one in streams)
    length = iperf3.number(data, "start", "test_start", "blksize")
    arrived = iperf3.total(data, "end", f"sum_received{suffix}").size
    if late * length > arrived:
        raise WorkloadFailed(f"iperf3 counted {late:g} datagrams of {length:g} B out of order in {arrived:g} B")
    iperf3.require_room(data, arrived, COPIES * iperf3.whole(data, "end", f"sum_received{suffix}", "packets"))
    return Sample("out-of-order", late, None, receiver)


def _filled(report: Any, name: str, arrived: iperf3.Total) -> list[iperf3.Interval]:
    """The receiver's intervals, of all that arrived, without a last one that is too short to say anything."""
    told = iperf3.filling(report, name, arrived.size, arrived.seconds)
    return [one for one in told if one.total.seconds >= iperf3.REST]


def _series(told: list[iperf3.Interval], name: str, receiver: str) -> list[Sample]:
    samples = []
    for one in told:
        at = round(one.begin, 3)
        samples.append(Sample("throughput", one.total.rate, at, receiver))
        samples.append(Sample("jitter", _jitter(one.report, name), at, receiver))
    return samples
