"""Metrics as they are declared: which of them sum up a workload, and whether more of one is better."""

from collections.abc import Mapping
from functools import cache

from tunbench.analysis.cells import CENTRAL
from tunbench.analysis.verdicts import BRING_UP
from tunbench.runner import invocation, registry
from tunbench.runner.shard import UP
from tunbench.runner.workload import Metric

HEADLINES = {"loaded-latency": ("rpm-up", "rpm-down", "rpm-both")}
"""The metrics that sum up a workload, where it is not the one that it declares first."""


def spelled(metric: str, statistic: str) -> str:
    """The metric alone where the statistic is the trial's value or median, else followed by it."""
    return metric if statistic in CENTRAL else f"{metric} {statistic}"


def headlines(workload: str) -> tuple[str, ...]:
    """The metrics that sum up a workload: the first that it declares, or those of HEADLINES; none if it is unknown."""
    name = workload.partition(":")[0]
    return HEADLINES.get(name) or tuple(_of_workload(workload))[:1]


def about(workload: str, metric: str) -> Metric | None:
    """What the workload, or else a probe, declares of a metric; None where this version does not know it."""
    return _of_workload(workload).get(metric) or _of_probes().get(metric)


def more_is_better(workload: str, metric: str) -> bool | None:
    """Whether more of a metric is better; None where it is neither, or nothing is known of it."""
    declared = about(workload, metric)
    return declared.more_is_better if declared else None


@cache
def _of_workload(workload: str) -> Mapping[str, Metric]:
    if workload == BRING_UP:
        return UP
    try:
        return dict(invocation.read(workload).module.ABOUT.metrics)
    except ValueError:
        # A run of another version may know workloads that this one does not.
        return {}


@cache
def _of_probes() -> Mapping[str, Metric]:
    return {name: one for probe in registry.probe_names() for name, one in registry.probe(probe).ABOUT.metrics.items()}
