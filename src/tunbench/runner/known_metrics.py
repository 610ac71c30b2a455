"""Every metric that this version measures, by its name: a name means one thing, whichever workload measures it."""

from collections.abc import Mapping
from functools import cache

from tunbench.runner import probe, registry
from tunbench.runner.declare.metrics import OF_BRING_UP, Metric


@cache
def metrics_by_name() -> Mapping[str, Metric]:
    """All metrics: those of workloads, of probes, and of bringing a stack up."""
    of_workloads = [registry.workload(name).ABOUT.metrics for name in registry.workload_names()]
    every = (*of_workloads, probe.metrics(registry.probe_names()), OF_BRING_UP)
    return {name: metric for metrics in every for name, metric in metrics.items()}
