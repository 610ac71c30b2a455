"""UDP at a given rate by iperf3."""

import math
from typing import Any

from tunbench.runner import iperf3
from tunbench.runner.options import Option, Options
from tunbench.runner.workload import About, Metric, Sample, Trial, WorkloadFailed

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
            "bit/s", "payload that arrived; with a moment: in that second, at the receiver", more_is_better=True
        ),
        "jitter": Metric("s", "mean deviation of the transit time (RFC 1889, section 6.3.1); with a moment: by then"),
        "loss": Metric("ratio", "datagrams that did not arrive"),
        "out-of-order": Metric("count", "datagrams that arrived behind a later one"),
    },
    programs=("iperf3",),
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
    streams = iperf3.items(data, "server_output_json", "end", "streams")
    lost, packets = _lost(data, "sum")
    # The sum of both has the same rate, but the seconds of the receiver.
    sent, datagrams = iperf3.sent_datagrams(data)
    arrived = iperf3.total(data, "end", "sum_received")
    _require_same_loss(data, streams)
    if packets > datagrams:
        raise WorkloadFailed(f"iperf3 sent {datagrams:g} datagrams and counted {packets:g}")
    return [
        *_series(data["server_output_json"], "sum", arrived, receiver),
        Sample("throughput", sent.rate * (1 - lost / packets), None, receiver),
        *_whole(data, "sum", receiver),
        _out_of_order(data, streams, receiver),
    ]


def _back(data: dict[str, Any], receiver: str, suffix: str) -> list[Sample]:
    """What the client received until its time was over: what was still on its way is neither received nor lost."""
    arrived, streams = iperf3.received_back(data, suffix), iperf3.items(data, "end", "streams")
    _require_same_loss(data, streams, suffix)
    return [
        *_series(data, f"sum{suffix}", arrived, receiver),
        Sample("throughput", arrived.rate, None, receiver),
        *_whole(data, "sum_received", receiver, suffix),
        _out_of_order(data, streams, receiver, suffix),
    ]


def _whole(data: dict[str, Any], sums: str, receiver: str, suffix: str = "") -> list[Sample]:
    lost, packets = _lost(data, sums, suffix)
    return [
        Sample("jitter", _jitter(data, "end", sums + suffix), None, receiver),
        Sample("loss", lost / packets, None, receiver),
    ]


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
    lost = sum(iperf3.whole(one, "udp", "lost_packets") for one in streams if not _sends(one))
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
    late = sum(iperf3.whole(one, "udp", "out_of_order") for one in streams if not _sends(one))
    length = iperf3.number(data, "start", "test_start", "blksize")
    arrived = iperf3.total(data, "end", f"sum_received{suffix}").size
    if late * length > arrived:
        raise WorkloadFailed(f"iperf3 counted {late:g} datagrams of {length:g} B out of order in {arrived:g} B")
    iperf3.require_room(data, arrived, COPIES * iperf3.whole(data, "end", f"sum_received{suffix}", "packets"))
    return Sample("out-of-order", late, None, receiver)


def _sends(stream: Any) -> bool:
    udp = stream.get("udp") if isinstance(stream, dict) else None
    return isinstance(udp, dict) and udp.get("sender") is True


def _series(report: Any, name: str, arrived: iperf3.Total, receiver: str) -> list[Sample]:
    """The receiver's intervals, of all that arrived. The last one may be a rest too short to say anything."""
    samples = []
    for one in iperf3.filling(report, name, arrived.size, arrived.seconds):
        if one.total.seconds < iperf3.REST:
            continue
        at = round(one.begin, 3)
        samples.append(Sample("throughput", one.total.rate, at, receiver))
        samples.append(Sample("jitter", _jitter(one.report, name), at, receiver))
    return samples
