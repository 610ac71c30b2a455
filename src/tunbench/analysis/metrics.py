"""Metrics as they are declared: which of them sum up a workload, and whether more of one is better."""

from collections.abc import Mapping

from tunbench.analysis.cells import CENTRAL
from tunbench.runner import catalogue, registry
from tunbench.runner.declare.metrics import BRING_UP, OF_BRING_UP, Metric
from tunbench.runner.workload import About

BRINGING_UP = About(BRING_UP, "the stack is brought up", {}, OF_BRING_UP)


def spelled(metric: str, statistic: str) -> str:
    """The metric alone where the statistic is the trial's value or median, else followed by it."""
    return metric if statistic in CENTRAL else f"{metric} {statistic}"


def headlines(workload: str) -> tuple[str, ...]:
    """The metrics that sum up a workload: its headline, or else the first that it declares; none if it is unknown."""
    about = _about(workload)
    return (about.headline or tuple(about.metrics)[:1]) if about else ()


def declared(workload: str) -> Mapping[str, Metric]:
    """The metrics of a workload, as it declares them; none if it is unknown."""
    about = _about(workload)
    return about.metrics if about else {}


def about(workload: str, metric: str) -> Metric | None:
    """What the workload, or else what is beside it, declares of a metric; None where this version does not know it."""
    return declared(workload).get(metric) or _beside().get(metric)


def more_is_better(workload: str, metric: str) -> bool | None:
    """Whether more of a metric is better; None where it is neither, or nothing is known of it."""
    found = about(workload, metric)
    return found.more_is_better if found else None


def rank(workload: str, metric: str) -> int:
    """The place of a metric among those of the workload and of what is beside it; one that is not known comes last."""
    names = [*declared(workload), *_beside()]
    return names.index(metric) if metric in names else len(names)


@registry.remembered
def _about(workload: str) -> About | None:
    name = workload.partition(":")[0]
    if name == BRING_UP:
        return BRINGING_UP
    # A run of another version may know workloads that this one does not.
    return registry.workload(name).ABOUT if name in registry.workload_names() else None


@registry.remembered
def _beside() -> Mapping[str, Metric]:
    return catalogue.beside(registry.probe_names())
