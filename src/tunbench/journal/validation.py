"""Whether an event of a journal is one that a run writes: all that is read of it has its type and a bearable size.

A journal may come from someone else. What passes here is relied on everywhere else, so that nothing checks it again.
"""

import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from tunbench.journal.bounds import (
    MAX_FACTS,
    MAX_NAME_CHARACTERS,
    MAX_NESTING,
    MAX_NUMBER,
    MAX_SAMPLE_SECONDS,
    MAX_WHOLE_NUMBER,
    MIN_SAMPLE,
)
from tunbench.labs.real_time.host_state import HOST_STATE
from tunbench.plan.load import OVERRIDES
from tunbench.runner.catalogue import metrics_by_name
from tunbench.runner.declare import axes
from tunbench.runner.declare.link import FRAMINGS, SEGMENTATIONS, Direction
from tunbench.runner.declare.metrics import BOUNDS, TIME, Bounds
from tunbench.runner.declare.netem_terms import TERMS
from tunbench.runner.declare.options import Option
from tunbench.runner.declare.verdicts import Verdict

NAMED = re.compile(r"[0-9A-Za-zµ°][^\n]*")
"""A name begins with a letter or digit, so that no spreadsheet takes it for a formula."""

Check = Callable[[Any], None]
"""Raises InvalidEvent, or any error of a wrong type."""


Checks = Mapping[str, Mapping[str, Check]]
"""For each kind of event, what is read of it and how that is checked."""


class InvalidEvent(ValueError):
    """Something that no run writes; the message says what."""


def check(event: Any, checks: Checks) -> None:
    """Raises InvalidEvent, which says what is wrong; an event of no kind of `checks` has nothing that is read."""
    if not isinstance(event, dict) or not isinstance(event.get("event"), str):
        raise InvalidEvent("not an event")
    _check(event, checks.get(event["event"], {}), event["event"])
    if event["event"] == "shard" and event.get("state") == "started" and checks:
        _check(event, {"spec": _spec}, "shard")


def _check(table: Any, checks: Mapping[str, Check], what: str) -> None:
    """Checks the values of a table; a key that ends in a question mark need not be there."""
    if not isinstance(table, dict):
        raise InvalidEvent(f"{what} is no table")
    for key, one in checks.items():
        name = key.removesuffix("?")
        if name not in table and name != key:
            continue
        try:
            one(table[name])
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            reason = f": {error}" if isinstance(error, InvalidEvent) and str(error) else ""
            raise InvalidEvent(f"the {name} of {what} is not sound{reason}") from None


def _that(valid: Callable[[Any], bool]) -> Check:
    def check(value: Any) -> None:
        if not valid(value):
            raise InvalidEvent

    return check


def _is_name(value: Any) -> bool:
    short = isinstance(value, str) and len(value) <= MAX_NAME_CHARACTERS
    return short and value.isprintable() and bool(NAMED.fullmatch(value))


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and -MAX_NUMBER <= value <= MAX_NUMBER


def _is_share(value: Any) -> bool:
    return _is_number(value) and 0 < value < 1


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_WHOLE_NUMBER


def _names(value: Any) -> None:
    if not isinstance(value, list) or not all(map(_is_name, value)):
        raise InvalidEvent


def _texts(value: Any) -> None:
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise InvalidEvent


def _facts(value: Any) -> None:
    """A table of whatever JSON has, as long as that can be shown."""
    if not isinstance(value, dict):
        raise InvalidEvent
    left = MAX_FACTS
    waiting = [(value, 0)]
    while waiting:
        inner, depth = waiting.pop()
        if depth > MAX_NESTING:
            raise InvalidEvent(f"it is nested more than {MAX_NESTING} deep")
        if isinstance(inner, dict | list):
            left -= len(inner)
            if left < 0:
                raise InvalidEvent(f"it has more than {MAX_FACTS} names and values")
            waiting += [(one, depth + 1) for one in (inner.values() if isinstance(inner, dict) else inner)]
        elif type(inner) in (int, float) and not _is_number(inner):
            raise InvalidEvent("it has a number that is too large")


def check_manifest(value: Any) -> None:
    """Raises InvalidEvent where a manifest is none that a run writes."""
    _facts(value)
    _check(value, {"lab": _lab, "plan?": _plan}, "the manifest")


def _lab(value: Any) -> None:
    _check(value, {"kind": NAME, "clock": NAME}, "the lab")


def _plan(value: Any) -> None:
    _check(value, {"until?": _until}, "the plan")


def _until(value: Any) -> None:
    _check(value, {"width": NUMBER, "confidence": _that(_is_share), "max": WHOLE, "metrics": _names}, "until")


def _overrides(value: Any) -> None:
    if not value.keys() <= OVERRIDES.keys() or not all(type(one) in (int, str) for one in value.values()):
        raise InvalidEvent


def _paths(value: Any) -> None:
    _texts(value)
    if any(b"\0" in os.fsencode(one) for one in value.values()):
        raise InvalidEvent


def _terms(value: Any) -> None:
    for name, one in value.items():
        if not _is_term(TERMS[name].option, one):
            raise InvalidEvent(f"{name!r:.80}")


def _is_term(declared: Option, value: Any) -> bool:
    """Whether netem has such a term; the kernel's own may be above the largest that a plan may ask for."""
    match declared.kind:
        case "choice":
            return value in declared.choices
        case "switch":
            # Told as a number too: all terms are.
            return value in (False, True)
        case kind:
            return _is_number(value) and declared.low <= value <= (1 if kind == "ratio" else MAX_NUMBER)


def _installed(value: Any) -> None:
    _facts(value)
    _terms(terms := value.get("terms", {}))
    if any(TERMS[name].option.kind == "choice" for name in terms):
        raise InvalidEvent("tc does not tell which distribution there is")


def _profile(value: Any) -> None:
    _check(value, {"name": NAME, "forward": _terms, "reverse": _terms, "placement?": NAME}, "the profile")


def _link(value: Any) -> None:
    """A link, whose directions have numbers alone."""
    if value.keys() != LINK.keys():
        raise InvalidEvent("it has something else than a link has")
    _check(value, LINK, "the link")


def _way(value: Any) -> None:
    if not value.keys() <= set(Direction._fields) or not all(map(_is_number, value.values())):
        raise InvalidEvent


def _machine(value: Any) -> None:
    _check(value, {"name": NAME, "without?": _names, "speed?": WHOLE}, "the machine")


def _named(value: Any) -> None:
    if isinstance(value, dict):
        _facts(value)
    NAME(value["name"] if isinstance(value, dict) else value)


def _spec(value: Any) -> None:
    _check(value, SPEC, "a shard")


def _widest(value: Any) -> None:
    if value is not None:
        texts = dict.fromkeys(("workload", "pair", "node", "metric", "statistic"), NAME)
        _check(value, {**texts, "width": _that(lambda width: width is None or _is_number(width))}, "a block's answer")


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
    if not all(map(_is_name, names)):
        raise InvalidEvent("a metric, unit, pair or node has no name")
    metric, unit = names[:2]
    declared = metrics_by_name().get(metric)
    if unit not in BOUNDS or (declared and declared.unit != unit):
        raise InvalidEvent(f"{metric} is not measured in {unit}")
    low, high = declared.limits if declared else BOUNDS[unit]
    most = MAX_SAMPLE_SECONDS if unit == TIME else MAX_NUMBER
    return Bounds(max(low, -most), min(high, most))


NAME, TEXT = _that(_is_name), _that(lambda value: isinstance(value, str))
NUMBER, WHOLE = _that(_is_number), _that(_is_whole)
SOME_TEXTS = _that(lambda value: isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value))

LINK: dict[str, Check] = {
    **{"name": NAME, "up": _way, "down": _way, "mtu": WHOLE},
    **{"framing": _that(FRAMINGS.__contains__), "segmentation": _that(SEGMENTATIONS.__contains__)},
}

SPEC: dict[str, Check] = {
    **{axis: _named for axis in axes.SHARD},
    **{"stack": NAME, "profile": _profile},
    **{"link": _link, "machine": _machine},
    **{"repeat": WHOLE, "seed": WHOLE, "workloads?": _names},
}

EVENT_CHECKS: Checks = {
    "run": {"planned": WHOLE, "manifest": check_manifest, "overrides?": _overrides, "files?": _paths},
    "shard": {"shard": NAME, "state": NAME, "wall?": NUMBER},
    "phase": {"shard": NAME, "name": NAME, "at": NUMBER, "workload?": NAME},
    "command": {"shard": NAME, "shell": TEXT, "took?": _that(lambda value: value is None or _is_number(value))},
    "file": {"shard": NAME, "path": TEXT, "text": TEXT},
    "capture": {"shard": NAME, "name": TEXT, "pcap": TEXT},
    "trial": {
        **{"shard": NAME, "workload": NAME, "verdict": _that(lambda value: value in list(Verdict)), "reason": TEXT},
        **{"samples": _samples, "logs?": _texts, "outputs?": _texts, "noisy?": TEXT},
    },
    HOST_STATE: {"findings": _host_warnings, "facts": _facts},
    "warning": {"shard": NAME, "name": NAME, "text": TEXT},
    "outside": {"shard": NAME, "packets": WHOLE, "first": SOME_TEXTS},
    "version": {"program": NAME, "text": TEXT},
    "impairment": {"asked": _terms, "installed": _installed},
    "block": {
        **{name: NAME for name in ("group", *axes.SHARD)},
        **{"repeats": WHOLE, "enough": _that(lambda value: isinstance(value, bool)), "more": WHOLE, "widest": _widest},
    },
}
"""What is read of each kind of event."""
