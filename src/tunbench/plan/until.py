"""Adaptive stopping as a plan asks for it: repeats in blocks, until every cell is narrow enough."""

from itertools import count
from typing import NamedTuple

from tunbench.plan.toml.bounds import MAX_REPEATS
from tunbench.plan.toml.mistakes import MistakeAt, quoted
from tunbench.plan.toml.tables import Known
from tunbench.runner import catalogue, registry
from tunbench.runner.declare import quantity
from tunbench.runner.declare.options import nearest

BLOCK = 5
"""Repeats that are asked for at a time. A fixed number: whoever looks after every repeat stops by luck more often."""

STOPPING_UNITS = ("bit/s", "s")
"""The units of the metrics of workloads that count where a plan does not name the metrics."""

EXAMPLE = 'until = { width = "2%", max = 30 }'

USUAL_CONFIDENCE, USUAL_MAX = 0.95, 30
MIN_CONFIDENCE, MAX_CONFIDENCE = 0.5, 0.999


class Until(NamedTuple):
    """When a cell is narrow enough: its interval is at most `width` (a ratio) of its median wide.

    The interval is that of the median by order statistics, at least of this `confidence`. After `max` repeats no more
    are asked for. `metrics` are the names of those that count.
    """

    width: float
    confidence: float = USUAL_CONFIDENCE
    max: int = USUAL_MAX
    metrics: tuple[str, ...] = ()


def read_until(value: object, known: Known) -> Until:
    """What the table asks for, given the keys that have been read before it. Raises ValueError and MistakeAt."""
    if not isinstance(value, dict):
        raise ValueError(f"{quoted(value)} is not a table: write for example {EXAMPLE}")
    unknown = next((key for key in value if key not in Until._fields), None)
    if unknown is not None:
        raise MistakeAt(f'unknown key "{unknown}"{nearest(unknown, list(Until._fields))}', unknown)
    if "width" not in value:
        raise ValueError(f'the key "width" is missing: write for example {EXAMPLE}')
    width, confidence = _width(value["width"]), _confidence(value.get("confidence", USUAL_CONFIDENCE))
    found = Until(width, confidence, _max(value.get("max", USUAL_MAX)))
    _reachable(found, known.get("repeats", 1))
    return found._replace(metrics=_metrics(value.get("metrics"), known))


def blocks(repeats: int) -> int:
    """So many repeats, rounded up to whole blocks."""
    return -(-repeats // BLOCK) * BLOCK


def fewest(confidence: float) -> int:
    """The least number of values whose range is an interval of the median with this confidence.

    The range of n values misses the median with 2 × 0.5ⁿ: David and Nagaraja, Order Statistics (2003), section 7.1.
    """
    return next(n for n in count(1) if 1 - 2 * 0.5**n >= confidence)


def _width(value: object) -> float:
    try:
        width = quantity.ratio(value if isinstance(value, str) else quoted(value))
    except ValueError:
        width = 0.0
    if not width:
        raise MistakeAt(f'{quoted(value)} is not a width: write a percentage above 0%, such as width = "2%"', "width")
    return width


def _confidence(value: object) -> float:
    if not isinstance(value, float) or not MIN_CONFIDENCE <= value <= MAX_CONFIDENCE:
        allowed = f"{MIN_CONFIDENCE} to {MAX_CONFIDENCE}"
        raise MistakeAt(
            f"{quoted(value)} is not a confidence: write a probability from {allowed}, such as confidence = 0.95",
            "confidence",
        )
    return value


def _max(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not BLOCK <= value <= MAX_REPEATS or value % BLOCK:
        raise MistakeAt(
            f"{quoted(value)} is not a number of repeats in blocks of {BLOCK}: write a multiple of {BLOCK} "
            f"from {BLOCK} to {MAX_REPEATS}, such as max = {USUAL_MAX}",
            "max",
        )
    return value


def _reachable(until: Until, repeats: int) -> None:
    """Raises MistakeAt where `max` leaves no room for the repeats, or for an interval."""
    if blocks(repeats) > until.max:
        raise MistakeAt(
            f"{until.max} is less than the {repeats} repeats that the plan asks for at least: "
            f"raise max to {blocks(repeats)}, or lower repeats",
            "max",
        )
    needed = fewest(until.confidence)
    if needed > until.max:
        raise MistakeAt(
            f"{until.max} repeats have no interval of confidence {until.confidence:g}, which takes {needed}: "
            f"raise max to {blocks(needed)}, or lower confidence",
            "max",
        )


def _metrics(value: object, known: Known) -> tuple[str, ...]:
    """The metrics that count: those that are named, or else those of workloads in STOPPING_UNITS."""
    if "workloads" not in known or "probes" not in known:
        return ()
    of_workloads = {name: metric for workload in known["workloads"] for name, metric in workload.about.metrics.items()}
    probes = registry.probe_names() if known["probes"] is None else known["probes"]
    if value is not None:
        return _named(value, sorted({*of_workloads, *catalogue.beside(probes)}))
    judged = {name: metric for name, metric in of_workloads.items() if metric.more_is_better is not None}
    found = tuple(sorted(name for name, metric in judged.items() if metric.unit in STOPPING_UNITS))
    if not found:
        example = f"metrics = {quoted(sorted(of_workloads)[:1])}"
        raise ValueError(
            f"no workload of the plan measures a throughput or a time: name what counts, such as {example}"
        )
    return found


def _named(value: object, there: list[str]) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise MistakeAt(
            f'{quoted(value)} is not a list of metrics: write for example metrics = ["throughput"]', "metrics"
        )
    for number, name in enumerate(value):
        if name not in there:
            problem = f"no workload or probe of the plan has the metric {quoted(name)}"
            raise MistakeAt(f"{problem}{nearest(str(name), there)}", "metrics", number)
    return tuple(sorted(set(value)))
