"""The tunnel at rest: what it sends and what it computes while nobody uses it."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.metrics import MAX_CORES, Bounds, Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.node.node import Node
from tunbench.runner.workload import About, Sample, Trial, now
from tunbench.runner.workloads.shared.output_bounds import COUNTER, IDENTIFIER, last_words

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

INTERFACE = "eth0"
"""The interface of every endpoint between the nodes, below all layers."""

STEP = 60
"""Seconds of one value of the series."""

COUNTERS = ("tx_bytes", "tx_packets")

READ_COUNTERS = (
    f"grep -Hs . {' '.join(f'/sys/class/net/{INTERFACE}/statistics/{name}' for name in COUNTERS)}"
    " /proc/[0-9]*/task/[0-9]*/schedstat"
)
"""Prints each counter behind the name of its file. A thread may end meanwhile: that is no mistake."""

COUNTED = re.compile(rf"^/sys/class/net/[^/]+/statistics/(\w+):({COUNTER})$", re.ASCII | re.MULTILINE)
SCHEDULED = re.compile(
    rf"^/proc/({IDENTIFIER})/task/({IDENTIFIER})/schedstat:({COUNTER}) \d+ \d+$", re.ASCII | re.MULTILINE
)
"""Process, thread, and nanoseconds on the processor: Documentation/scheduler/sched-stats.rst of Linux 6.1."""


class Counters(NamedTuple):
    """What a node had sent, and what its threads had computed (in ns, by process and thread), at a moment (in s)."""

    at: float
    bytes: int
    packets: int
    threads: Mapping[tuple[int, int], int]


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


def parse(text: str, at: float) -> Counters:
    """The state of a node at a moment in seconds, as READ_COUNTERS prints it. Raises WorkloadFailed."""
    counters = {name: int(value) for name, value in COUNTED.findall(text)}
    threads = {(int(process), int(thread)): int(ns) for process, thread, ns in SCHEDULED.findall(text)}
    # Every line is one of these, and none is there twice.
    read = len(counters) + len(threads) == len(text.splitlines())
    if not read or not threads or not counters.keys() >= set(COUNTERS):
        raise WorkloadFailed(f"the node's counters could not be read: {last_words(text)}")
    return Counters(at, counters["tx_bytes"], counters["tx_packets"], threads)


def rates(before: Sequence[Counters], after: Sequence[Counters], at: float | None = None) -> list[Sample]:
    """What all nodes together sent and computed between two looks. Raises WorkloadFailed where a counter fell."""
    pairs = list(zip(before, after, strict=True))
    grown = [(new.at - old.at, new.bytes - old.bytes, new.packets - old.packets) for old, new in pairs]
    if any(time <= 0 or size < 0 or packets < 0 for time, size, packets in grown):
        raise WorkloadFailed("a counter of the interfaces, or the clock, went backwards")
    return [
        Sample("idle-rate", sum(8 * size / time for time, size, _ in grown), at),
        Sample("idle-packets", sum(packets / time for time, _, packets in grown), at),
        Sample("idle-cpu", sum(computed(old, new) / 1e9 / (new.at - old.at) for old, new in pairs), at),
    ]


def computed(before: Counters, after: Counters) -> int:
    """The nanoseconds of the processes that were there at both looks.

    A thread that began meanwhile counts from 0; what one that ended meanwhile computed is not known any more. The
    programs that look are not there twice.
    """
    stayed = {process for process, _ in before.threads}
    return sum(
        max(0, ns - before.threads.get((process, thread), 0))
        for (process, thread), ns in after.threads.items()
        if process in stayed
    )


def _look(trial: Trial, began: float) -> list[Counters]:
    ends = trial.site.endpoints if trial.site else [trial.client, trial.server]
    return [state(node, began) for node in ends]


def state(node: Node, began: float) -> Counters:
    """What a node has sent and computed by now; the trial `began` before. Raises WorkloadFailed."""
    return parse(node.ask("sh", "-c", READ_COUNTERS).stdout, now() - began)
