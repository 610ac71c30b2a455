"""TCP throughput by iperf3."""

from typing import Any

from tunbench.runner import iperf3
from tunbench.runner.options import Option, Options
from tunbench.runner.workload import About, Metric, Sample, Trial

ABOUT = About(
    name="iperf3-tcp",
    summary="iperf3 over TCP: throughput at the receiver, and retransmits",
    options={
        "duration": Option("seconds", "2", "whole seconds to send", low=1, high=86400),
        "parallel": Option("count", "1", "streams at once", low=1, high=128),
        "reverse": Option("switch", "off", "the server sends"),
        "mss": Option("size", "0", "TCP maximum segment size in bytes, 0: as the system has it", low=0, high=9216),
    },
    metrics={
        "throughput": Metric(
            "bit/s", "payload that arrived; with a moment: in that second, as the client counts it", more_is_better=True
        ),
        "retransmits": Metric("count", "TCP segments sent again"),
    },
    programs=("iperf3",),
    version=("iperf3", "--version"),
)


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return float(options["duration"])


def execute(trial: Trial) -> None:
    """Sends from the client to the server, or back with `reverse`."""
    options = trial.options
    arguments = ["--time", str(options["duration"]), "--parallel", str(options["parallel"])]
    if options["reverse"]:
        arguments.append("--reverse")
    if options["mss"]:
        arguments += ["--set-mss", str(options["mss"])]
    trial.samples += parse(iperf3.measure(trial, seconds(options), *arguments))


def parse(data: dict[str, Any]) -> list[Sample]:
    """The samples in the client's JSON; those of its intervals carry their moment. Raises WorkloadFailed."""
    samples = [
        Sample("throughput", iperf3.number(data, "end", "sum_received", "bits_per_second")),
        Sample("retransmits", iperf3.number(data, "end", "sum_sent", "retransmits")),
    ]
    for interval in iperf3.items(data, "intervals"):
        at = iperf3.number(interval, "sum", "start")
        samples.append(Sample("throughput", iperf3.number(interval, "sum", "bits_per_second"), round(at, 3)))
    return samples
