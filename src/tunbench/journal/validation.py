"""Whether an event of a journal is one that a run writes: all that is read of it has its type and a bearable size.

A journal may come from someone else. What passes here is relied on everywhere else, so that nothing checks it again.
"""

import os
from typing import Any

from tunbench.journal.bounds import MAX_NUMBER, MAX_SAMPLE_SECONDS, MIN_SAMPLE
from tunbench.journal.checks import (
    NAME,
    NUMBER,
    SOME_TEXTS,
    TEXT,
    WHOLE,
    Checks,
    InvalidEvent,
    check_facts,
    check_names,
    check_table,
    check_texts,
    is_name,
    is_number,
    is_share,
    that,
)
from tunbench.journal.shard_checks import check_spec, check_terms
from tunbench.labs.real_time.host_state import HOST_STATE
from tunbench.plan.load import OVERRIDES
from tunbench.plan.narrowing import AXES as NARROWED_AXES
from tunbench.runner.catalogue import metrics_by_name
from tunbench.runner.declare import axes
from tunbench.runner.declare.metrics import BOUNDS, TIME, Bounds
from tunbench.runner.declare.netem_terms import TERMS
from tunbench.runner.declare.verdicts import Verdict

HAD = ("addons?", "tools?", "brought?", "plugins?")
"""What a manifest lists by names, as tables."""


def check(event: Any, checks: Checks) -> None:
    """Raises InvalidEvent, which says what is wrong; an event of no kind of `checks` has nothing that is read."""
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise InvalidEvent("not an event")
    check_table(event, checks.get(event["event"], {}), event["event"])
    if event["event"] == "shard" and event.get("state") == "started" and checks:
        check_table(event, {"spec": check_spec}, "shard")


def check_manifest(value: Any) -> None:
    """Raises InvalidEvent where a manifest is none that a run writes."""
    check_facts(value)
    check_table(value, {"lab": _lab, "plan?": _plan, **dict.fromkeys(HAD, that(_is_table))}, "the manifest")


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


def _lab(value: Any) -> None:
    check_table(value, {"kind": NAME, "clock": NAME}, "the lab")


def _plan(value: Any) -> None:
    check_table(value, {"until?": _until}, "the plan")


def _until(value: Any) -> None:
    check_table(value, {"width": NUMBER, "confidence": that(is_share), "max": WHOLE, "metrics": check_names}, "until")


def _overrides(value: Any) -> None:
    if not value.keys() <= OVERRIDES.keys():
        raise InvalidEvent
    for key, one in value.items():
        if key in NARROWED_AXES:
            sound = isinstance(one, list) and all(isinstance(each, str) for each in one)
        else:
            sound = type(one) in (int, str)
        if not sound:
            raise InvalidEvent


def _paths(value: Any) -> None:
    check_texts(value)
    if any(b"\0" in os.fsencode(one) for one in value.values()):
        raise InvalidEvent


def _installed(value: Any) -> None:
    check_facts(value)
    check_terms(terms := value.get("terms", {}))
    if any(TERMS[name].option.kind == "choice" for name in terms):
        raise InvalidEvent("tc does not tell which distribution there is")


def _widest(value: Any) -> None:
    if value is not None:
        texts = dict.fromkeys(("workload", "pair", "node", "metric", "statistic"), NAME)
        check_table(
            value, {**texts, "width": that(lambda width: width is None or is_number(width))}, "a block's answer"
        )


def _host_warnings(value: Any) -> None:
    for name, text in value:
        NAME(name)
        TEXT(text)


def _samples(value: Any) -> None:
    """Rows of metric, unit, value, moment or None, pair and node; there may be a million of them."""
    bounds_of: dict[tuple[str, str, str, str], Bounds] = {}
    for metric, unit, number, at, pair, node in value:
        names = (metric, unit, pair, node)
        if names not in bounds_of:
            bounds_of[names] = _bounds(*names)
        low, high = bounds_of[names]
        if type(number) not in (int, float) or not low <= number <= high or 0 < abs(number) < MIN_SAMPLE:
            raise InvalidEvent(f"a value is no number, or no {metric} in {unit} that there can be")
        if at is not None and (type(at) not in (int, float) or not 0 <= at <= MAX_NUMBER):
            raise InvalidEvent("a moment is no number, or before the trial")


def _bounds(*names: str) -> Bounds:
    """The bounds of a metric's values, given its name, its unit, the pair and the node. Raises InvalidEvent."""
    if not all(map(is_name, names)):
        raise InvalidEvent("a metric, unit, pair or node has no name")
    metric, unit = names[:2]
    declared = metrics_by_name().get(metric)
    if unit not in BOUNDS or (declared and declared.unit != unit):
        raise InvalidEvent(f"{metric} is not measured in {unit}")
    low, high = declared.limits if declared else BOUNDS[unit]
    most = MAX_SAMPLE_SECONDS if unit == TIME else MAX_NUMBER
    return Bounds(max(low, -most), min(high, most))


EVENT_CHECKS: Checks = {
    "run": {"planned": WHOLE, "manifest": check_manifest, "overrides?": _overrides, "files?": _paths},
    "shard": {"shard": NAME, "state": NAME, "wall?": NUMBER},
    "phase": {"shard": NAME, "name": NAME, "at": NUMBER, "workload?": NAME},
    "command": {"shard": NAME, "shell": TEXT, "took?": that(lambda value: value is None or is_number(value))},
    "file": {"shard": NAME, "path": TEXT, "text": TEXT},
    "capture": {"shard": NAME, "name": TEXT, "pcap": TEXT},
    "trial": {
        **{"shard": NAME, "workload": NAME, "verdict": that(lambda value: value in list(Verdict)), "reason": TEXT},
        **{"samples": _samples, "logs?": check_texts, "outputs?": check_texts, "noisy?": TEXT},
        "path?": TEXT,
    },
    HOST_STATE: {"findings": _host_warnings, "facts": check_facts},
    "warning": {"shard": NAME, "name": NAME, "text": TEXT},
    "outside": {"shard": NAME, "packets": WHOLE, "first": SOME_TEXTS},
    "version": {"program": NAME, "text": TEXT},
    "impairment": {"asked": check_terms, "installed": _installed},
    "block": {
        **{f"{name}?" if name in axes.UNSAID else name: NAME for name in ("group", *axes.SHARD)},
        **{"repeats": WHOLE, "enough": that(lambda value: isinstance(value, bool)), "more": WHOLE, "widest": _widest},
    },
}
"""What is read of each kind of event."""
