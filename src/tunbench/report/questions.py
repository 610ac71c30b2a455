"""Which question of a report each metric answers: each declares it, and here is their order."""

from collections.abc import Collection, Iterable, Sequence

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


def followed_over_options() -> list[str]:
    """The metrics that are drawn over what options vary: those that are followed, and others behind them."""
    others = [name for name, metric in metrics_by_name().items() if metric.followed_over_options]
    return [*followed(), *sorted(others, key=lambda name: list(Question).index(metrics_by_name()[name].answers))]


def at_a_glance(question: Question) -> list[str]:
    """The metrics that tables of a whole run on one screen have of a question, main ones first."""
    found = [name for name, metric in metrics_by_name().items() if metric.at_a_glance and metric.answers == question]
    return sorted(found, key=lambda name: not is_main(name))


def first_at_a_glance(question: Question) -> str:
    """The metric that stands for what a question is about, such as the throughput for how fast something is."""
    return at_a_glance(question)[0]


def rate(measured: Collection[str]) -> str:
    """What tells how fast stacks are: what stands for it, or else the first main metric that was measured instead."""
    first = first_at_a_glance(Question.FAST)
    instead = [name for name in followed() if is_main(name) and metrics_by_name()[name].answers == Question.FAST]
    return next((name for name in (first, *instead) if name in measured), first)


def more_is_better(metric: str) -> bool:
    """Whether more of a metric that this version knows is better."""
    return bool(metrics_by_name()[metric].more_is_better)
