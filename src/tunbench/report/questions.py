"""Which question of a report each metric answers, and what is said of it."""

import re
from typing import NamedTuple

FAST, LATE, COSTLY, RECOVERS, WIRE, OTHER = "fast", "late", "costly", "recovers", "wire", "other"


class Question(NamedTuple):
    """A section of a report: its heading, and the metrics that it is about before all others."""

    heading: str
    main: tuple[str, ...]
    further: tuple[str, ...] = ()


QUESTIONS = {
    FAST: Question(
        "How fast",
        ("throughput", "goodput", "transactions", "request-rate"),
        ("goodput-lossy", "trial-rate", "retransmits", "cwnd"),
    ),
    LATE: Question(
        "How late",
        ("rtt", "latency"),
        (
            *("jitter", "tcp-rtt", "increase", "rpm", "login", "duration"),
            *("loss", "failures", "out-of-order", "duplicates", "refused", "trial-loss"),
        ),
    ),
    COSTLY: Question(
        "How costly",
        ("cost",),
        (
            *("cost-packet", "busy", "user", "system", "softirq", "context-switches", "memory", "process-time"),
            *("kernel-memory", "carried", "packets", "frequency", "temperature", "energy", "idle-cpu"),
        ),
    ),
    RECOVERS: Question("How it comes up and recovers", ("connect", "blocked", "recovery"), ("outage", "lost")),
    WIRE: Question(
        "What it adds on the wire",
        ("overhead", "pmtu", "mss"),
        ("discovered", "black-hole", "idle-rate", "idle-packets"),
    ),
    OTHER: Question("What else was measured", ()),
}
"""The sections that are made of metrics, in their order."""

PHASE = re.compile(r"-(idle|up|down|both)$")
"""What ends the names of a metric that a workload has for several phases, as `loaded-latency` does."""

OF_UNIT = {"bit/s": FAST, "1/s": FAST, "s": LATE}
"""The question of a metric that is not named above, by its unit."""


def question(metric: str, unit: str) -> str:
    """The key of the question that a metric answers."""
    base = PHASE.sub("", metric)
    for key, one in QUESTIONS.items():
        if metric in one.main + one.further or base in one.main + one.further:
            return key
    return OF_UNIT.get(unit, OTHER)


def is_main(metric: str) -> bool:
    """Whether a metric is what its question is about."""
    return any(PHASE.sub("", metric) in one.main for one in QUESTIONS.values())


def rank(metric: str) -> tuple[int, str]:
    """Where a metric stands among those of its question."""
    names = [name for one in QUESTIONS.values() for name in one.main + one.further]
    base = metric if metric in names else PHASE.sub("", metric)
    return (names.index(base) if base in names else len(names)), metric
