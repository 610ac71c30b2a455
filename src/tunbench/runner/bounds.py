"""Physical bounds of what is measured: no sample outside of them is accepted, whatever a tool printed."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tunbench.runner.workload import Metric, Sample


class Bounds(NamedTuple):
    """The least and the largest value that there can be, in the SI unit."""

    low: float
    high: float


TIME = "s"
"""The unit of what cannot have lasted longer than the trial itself."""

CORES = 1024
"""Processors of a machine at most: so many times a trial's length they compute in it."""

BOUNDS = {
    "bit/s": Bounds(0, 1e13),
    "B": Bounds(0, 1e15),
    "s": Bounds(0, math.inf),
    "s/B": Bounds(0, 1e6),
    "ratio": Bounds(0, 1),
    "count": Bounds(0, 1e15),
    "1/s": Bounds(0, 1e12),
    "1/min": Bounds(0, 1e12),
    "Hz": Bounds(0, 1e11),
    "°C": Bounds(-273.15, 1000),
    "J": Bounds(0, 1e9),
}
"""By unit. The fastest Ethernet carries 1.6 Tbit/s: IEEE P802.3dj."""

SPECIAL = {
    # What a load adds may be less than nothing, and a layer that compresses makes packets smaller.
    **{f"increase-{phase}": Bounds(-math.inf, math.inf) for phase in ("up", "down", "both")},
    "overhead": Bounds(-65_535, 65_535),
    "idle-cpu": Bounds(0, CORES),
}
"""By metric, where it is not that of the unit."""

OF_CORES = ("user", "system", "softirq", "process-time")
"""Times that are summed over processors."""

MARGIN = 1.0
"""Seconds by which clocks and what they are rounded to may differ."""


def impossible(samples: Sequence[Sample], metrics: Mapping[str, Metric], lasted: float) -> list[str]:
    """What is wrong with those of the samples that cannot be, of a trial that lasted so many seconds; once a metric."""
    longest = 1.01 * lasted + MARGIN
    limits = {name: _limits(name, metric, longest) for name, metric in metrics.items()}
    found: dict[str, str] = {}
    for metric, value, at, _ in samples:
        low, high = limits[metric]
        if not low <= value <= high:
            found.setdefault(metric, f"{metric} of {value:g} {metrics[metric].unit}")
        elif at is not None and not 0 <= at <= longest:
            found.setdefault(metric, f"{metric} at {at:g} s")
    return list(found.values())


def _limits(name: str, metric: Metric, longest: float) -> Bounds:
    low, high = SPECIAL.get(name, BOUNDS[metric.unit])
    if metric.unit != TIME:
        return Bounds(low, high)
    most = longest * (CORES if name in OF_CORES else 1)
    return Bounds(max(low, -most), min(high, most))
