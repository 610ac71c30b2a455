"""Reports of iperf3 that were captured, and ways to let them tell something else."""

from typing import Any

from tests.helpers.fakes import captured
from tunbench.runner.workload import Sample
from tunbench.runner.workloads.shared.iperf import iperf3_report


def loaded(name: str) -> Any:
    return iperf3_report.load(captured(f"iperf3-{name}.json"))


def of(samples: list[Sample], metric: str, node: str = "", whole: bool = True) -> list[float]:
    return [one.value for one in samples if (one.metric, one.node, one.at is None) == (metric, node, whole)]


def lose(data: Any, streams: list[Any], suffix: str, lost: int, percent: float) -> None:
    """Lets the sums of a direction and the streams that received it tell of the same loss."""
    for sums in ("sum", "sum_received"):
        data["end"][sums + suffix] |= {"lost_packets": lost, "lost_percent": percent}
    for stream in streams:
        stream["udp"]["lost_packets"] = lost


def counts(report: Any, name: str) -> list[Any]:
    """The sums of that name in the intervals of a report, and those of their streams."""
    intervals = report["intervals"]
    return [one[name] for one in intervals] + [one for interval in intervals for one in interval["streams"]]


def scale(factor: float, *sums: Any) -> None:
    """Changes bytes and rate of each sum alike."""
    for counted in sums:
        counted["bytes"] *= factor
        counted["bits_per_second"] *= factor
