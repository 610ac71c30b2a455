"""Physical bounds of what is measured: no sample outside of them is accepted, whatever a tool printed."""

from collections.abc import Mapping, Sequence

from tunbench.runner.declare.metrics import MAX_CORES, TIME, Bounds, Metric
from tunbench.runner.workload import Sample

CLOCK_TOLERANCE = 1.0
"""Seconds by which clocks and what they are rounded to may differ."""


def impossible(samples: Sequence[Sample], metrics: Mapping[str, Metric], lasted: float) -> list[str]:
    """What is wrong with those of the samples that cannot be, of a trial that lasted so many seconds; once a metric."""
    longest = 1.01 * lasted + CLOCK_TOLERANCE
    limits = {name: _limits(metric, longest) for name, metric in metrics.items()}
    found: dict[str, str] = {}
    for metric, value, at, _ in samples:
        low, high = limits[metric]
        if not low <= value <= high:
            found.setdefault(metric, f"{metric} of {value:g} {metrics[metric].unit}")
        elif at is not None and not 0 <= at <= longest:
            found.setdefault(metric, f"{metric} at {at:g} s")
    return list(found.values())


def _limits(metric: Metric, longest: float) -> Bounds:
    if metric.unit != TIME:
        return metric.limits
    low, high = metric.limits
    most = longest * (MAX_CORES if metric.summed_over_cores else 1)
    return Bounds(max(low, -most), min(high, most))
