"""The tunnel at rest: what it sends and what it computes while nobody uses it."""

from collections.abc import Sequence

from tunbench.runner.declare.metrics import MAX_CORES, Bounds, Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.workload import About, Sample, Trial, now
from tunbench.runner.workloads.shared.node_counters import Counters, between, computed, state

# What a look prints is read where others read it, too: each workload has its `parse`.
from tunbench.runner.workloads.shared.node_counters import parse as parse

ABOUT = About(
    name="idle",
    summary="the tunnel at rest: bytes and packets that both ends send between the nodes, and processor time",
    options={"duration": Option("seconds", "5min", "whole seconds to wait", low=10, high=86400)},
    metrics={
        "idle-rate": Metric(
            "bit/s",
            "bits that both ends together sent between the nodes, Ethernet headers included",
            question=Question.WIRE,
        ),
        "idle-packets": Metric("1/s", "packets that both ends together sent between the nodes", question=Question.WIRE),
        "idle-cpu": Metric(
            "ratio",
            "processor time of the processes of both ends ÷ time",
            question=Question.COSTLY,
            bounds=Bounds(0, MAX_CORES),
        ),
    },
)

STEP = 60
"""Seconds of one value of the series."""


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return float(options["duration"])


def busy(options: Options) -> float:
    """About how long it keeps a processor busy, in seconds: timers tick."""
    return 0.01 * float(options["duration"])


def execute(trial: Trial) -> None:
    """Looks at the counters of both ends, waits, and looks again each minute."""
    began, rest = now(), int(trial.options["duration"])
    looks = [_look(trial, began)]
    while rest > 0:
        step = min(STEP, rest)
        trial.client.run("sleep", str(step), timeout=step + 30)
        looks.append(_look(trial, began))
        trial.samples += rates(looks[-2], looks[-1], at=round(looks[-2][0].at, 6))
        rest -= step
    trial.samples += rates(looks[0], looks[-1])


def rates(before: Sequence[Counters], after: Sequence[Counters], at: float | None = None) -> list[Sample]:
    """What all nodes together sent and computed between two looks. Raises WorkloadFailed where a counter fell."""
    pairs = between(before, after)
    grown = [(new.at - old.at, new.bytes - old.bytes, new.packets - old.packets) for old, new in pairs]
    return [
        Sample("idle-rate", sum(8 * size / time for time, size, _ in grown), at),
        Sample("idle-packets", sum(packets / time for time, _, packets in grown), at),
        Sample("idle-cpu", sum(computed(old, new) / 1e9 / (new.at - old.at) for old, new in pairs), at),
    ]


def _look(trial: Trial, began: float) -> list[Counters]:
    ends = trial.site.endpoints if trial.site else [trial.client, trial.server]
    return [state(node, began) for node in ends]
