"""What a node has sent between the nodes, and what its programs have computed: two looks, and what lies between."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.node.node import Node
from tunbench.runner.workload import now
from tunbench.runner.workloads.shared.output_bounds import COUNTER, IDENTIFIER, last_words

INTERFACE = "eth0"
"""The interface of every endpoint between the nodes, below all layers."""

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


def state(node: Node, began: float) -> Counters:
    """What a node has sent and computed by now; the trial `began` before. Raises WorkloadFailed."""
    return parse(node.ask("sh", "-c", READ_COUNTERS).stdout, now() - began)


def parse(text: str, at: float) -> Counters:
    """The state of a node at a moment in seconds, as READ_COUNTERS prints it. Raises WorkloadFailed."""
    counters = {name: int(value) for name, value in COUNTED.findall(text)}
    threads = {(int(process), int(thread)): int(ns) for process, thread, ns in SCHEDULED.findall(text)}
    # Every line is one of these, and none is there twice.
    read = len(counters) + len(threads) == len(text.splitlines())
    if not read or not threads or not counters.keys() >= set(COUNTERS):
        raise WorkloadFailed(f"the node's counters could not be read: {last_words(text)}")
    return Counters(at, counters["tx_bytes"], counters["tx_packets"], threads)


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


Between = Sequence[tuple[Counters, Counters]]
"""Two looks at each of several nodes."""


def between(before: Sequence[Counters], after: Sequence[Counters]) -> Between:
    """The looks at each node. Raises WorkloadFailed where a counter fell, or the clock."""
    pairs = list(zip(before, after, strict=True))
    if any(new.at <= old.at or new.bytes < old.bytes or new.packets < old.packets for old, new in pairs):
        raise WorkloadFailed("a counter of the interfaces, or the clock, went backwards")
    return pairs
