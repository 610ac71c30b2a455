"""UDP at a given rate by iperf3."""

from typing import Any

from tunbench.runner import iperf3
from tunbench.runner.options import Option, Options
from tunbench.runner.workload import About, Metric, Sample, Trial, WorkloadFailed

ABOUT = About(
    name="iperf3-udp",
    summary="iperf3 over UDP at a given rate: throughput, jitter and loss at the receiver",
    options={
        "rate": Option("rate", "50M", "bits a second to send", low=1000, high=1e12),
        "length": Option("size", "1300", "payload of a datagram in bytes", low=16, high=65507),
        "duration": Option("seconds", "2", "whole seconds to send", low=1, high=86400),
    },
    metrics={
        "throughput": Metric("bit/s", "payload that arrived, each second", more_is_better=True),
        "jitter": Metric("s", "mean deviation of the transit time (RFC 1889, section 6.3.1)"),
        "loss": Metric("ratio", "datagrams that did not arrive"),
        "out-of-order": Metric("count", "datagrams that arrived behind a later one"),
    },
    programs=("iperf3",),
    version=("iperf3", "--version"),
)


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return float(options["duration"])


def execute(trial: Trial) -> None:
    """Sends from the client to the server."""
    options = trial.options
    data = iperf3.measure(
        trial,
        seconds(options),
        *("--udp", "--bitrate", f"{options['rate']:.0f}", "--length", str(options["length"])),
        # The order of arrival is known to the server alone: the client's own report has 0 for it.
        *("--time", str(options["duration"]), "--get-server-output"),
        server_arguments=("--json",),
    )
    trial.samples += parse(data)


def parse(data: dict[str, Any]) -> list[Sample]:
    """The samples in the client's JSON with the server's in it. Raises WorkloadFailed."""
    path = ("end", "sum")
    packets, lost = iperf3.number(data, *path, "packets"), iperf3.number(data, *path, "lost_packets")
    if packets < 1 or lost > packets:
        raise WorkloadFailed(f"iperf3 counted {lost:g} lost of {packets:g} datagrams")
    streams = iperf3.items(data, "server_output_json", "end", "streams")
    return [
        Sample("throughput", iperf3.number(data, *path, "bits_per_second") * (1 - lost / packets)),
        Sample("jitter", iperf3.number(data, *path, "jitter_ms") / 1000),
        Sample("loss", lost / packets),
        Sample("out-of-order", sum(iperf3.number(stream, "udp", "out_of_order") for stream in streams)),
    ]
