"""Round-trip times by ping, one sample a reply."""

import re

from tunbench.runner.options import Option, Options
from tunbench.runner.workload import About, Metric, Sample, Trial, WorkloadFailed

ABOUT = About(
    name="ping",
    summary="ICMP echo: round-trip time of every reply, and loss",
    options={
        "count": Option("count", "100", "echo requests to send", low=1, high=10_000_000),
        "interval": Option("duration", "0.01", "seconds between requests", low=0.001, high=3600),
        "size": Option("size", "56", "payload in bytes, as ping's -s", low=0, high=65507),
    },
    metrics={
        "rtt": Metric("s", "round-trip time"),
        "loss": Metric("ratio", "requests without a reply"),
        "duplicates": Metric("count", "replies that came twice"),
    },
    programs=("ping",),
    version=("ping", "-V"),
)

LINGER = 5.0
"""Seconds that ping waits for the last reply."""

REPLY = re.compile(r"icmp_seq=(\d+) ttl=\d+ time=([\d.]+) ms( \(DUP!\))?")
SUMMARY = re.compile(r"(\d+) packets transmitted, (\d+) received")


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return float(options["count"]) * float(options["interval"])


def execute(trial: Trial) -> None:
    """Pings from the client to the server."""
    options = trial.options
    result = trial.client.try_run(
        *("ping", "-n", "-c", str(options["count"]), "-i", f"{options['interval']:g}", "-s", str(options["size"])),
        *("-W", f"{LINGER:g}", trial.target),
        timeout=seconds(options) * 1.5 + LINGER + 10,
    )
    trial.outputs["ping.txt"] = result.stdout + result.stderr
    trial.samples += parse(result.stdout, float(options["interval"]))


def parse(text: str, interval: float) -> list[Sample]:
    """The samples in ping's output; `interval` in seconds places each in time. Raises WorkloadFailed."""
    summary = SUMMARY.search(text)
    if not summary:
        raise WorkloadFailed("ping printed no summary")
    sent, received = int(summary[1]), int(summary[2])
    if sent == 0 or received > sent:
        raise WorkloadFailed(f"ping's summary makes no sense: {summary[0]}")
    replies = REPLY.findall(text)
    first = [(int(seq), float(ms)) for seq, ms, twice in replies if not twice]
    if len(first) != received:
        raise WorkloadFailed(f"ping counted {received} replies and printed {len(first)}")
    samples = [Sample("rtt", ms / 1000, round((seq - 1) * interval, 6)) for seq, ms in first]
    samples.append(Sample("loss", (sent - received) / sent))
    samples.append(Sample("duplicates", len(replies) - len(first)))
    return samples
