"""Metrics as they are declared: which of them sum up a workload, and whether more of one is better."""

from collections.abc import Mapping
from functools import cache

from tunbench.analysis.cells import WHOLE
from tunbench.analysis.verdicts import BRING_UP
from tunbench.runner import asked, registry
from tunbench.runner.workload import Metric

NEUTRAL = frozenset({"carried", "packets", "trial-rate", "trial-loss", "outage", "frequency", "temperature"})
"""Metrics that describe what was done or the machine; more or less of them is neither better nor worse."""

HEADLINES = {BRING_UP: ("connect",), "loaded-latency": ("rpm-up", "rpm-down", "rpm-both")}
"""The metrics that sum up a workload, where it is not the one that it declares first."""

CENTRAL = (WHOLE, "median")
"""The statistics that are meant where a metric is named alone."""


def spelled(metric: str, statistic: str) -> str:
    """The metric alone where the statistic is the trial's value or median, else followed by it."""
    return metric if statistic in CENTRAL else f"{metric} {statistic}"


def headlines(workload: str) -> tuple[str, ...]:
    """The metrics that sum up a workload: the first that it declares, or those of HEADLINES; none if it is unknown."""
    name = workload.partition(":")[0]
    return HEADLINES.get(name) or tuple(_declared(workload))[:1]


def more_is_better(workload: str, metric: str) -> bool | None:
    """Whether more of a metric is better, as its workload or probe declares it; None where neither is."""
    declared = _declared(workload).get(metric) or _probed().get(metric)
    if metric == "connect" and workload == BRING_UP:
        return False
    return None if declared is None or metric in NEUTRAL else declared.more_is_better


@cache
def _declared(workload: str) -> Mapping[str, Metric]:
    try:
        return dict(asked.read(workload).module.ABOUT.metrics)
    except ValueError:
        # A run of another version may know workloads that this one does not.
        return {}


@cache
def _probed() -> Mapping[str, Metric]:
    probes = (registry.probe(name).ABOUT.metrics for name in registry.probe_names())
    return {metric: declared for metrics in probes for metric, declared in metrics.items()}
