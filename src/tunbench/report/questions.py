"""Which question of a report each metric answers: each declares it, and here is their order."""

from collections.abc import Iterable, Sequence

from tunbench.analysis import metrics
from tunbench.runner.catalogue import metrics_by_name
from tunbench.runner.declare.metrics import OF_UNIT, Question


def question(metric: str, unit: str) -> Question:
    """The question that a metric answers; of one that this version does not know its unit says so."""
    declared = metrics_by_name().get(metric)
    return declared.answers if declared else OF_UNIT.get(unit, Question.OTHER)


def is_main(metric: str) -> bool:
    """Whether a metric is what its question is about."""
    return metric in metrics_by_name() and metrics_by_name()[metric].main


def ranks(measured: Iterable[tuple[str, str]], workloads: Sequence[str]) -> dict[str, int]:
    """The place of each metric that a workload measured: workloads have an order, and each declares its metrics in one.

    `measured` are pairs of workload and metric.
    """
    places = {workload: place for place, workload in enumerate(workloads)}
    ordered = sorted(measured, key=lambda one: (places[one[0]], metrics.rank(*one), one[1]))
    return {metric: place for place, metric in enumerate(dict.fromkeys(metric for _, metric in ordered))}


def followed() -> list[str]:
    """The metrics that are drawn over what profiles and options vary, by their questions, and main ones first."""
    found = {name: metric for name, metric in metrics_by_name().items() if metric.followed}
    order = list(Question)
    return sorted(found, key=lambda name: (order.index(found[name].answers), not found[name].main))
