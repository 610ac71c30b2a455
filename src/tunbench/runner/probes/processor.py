"""Where the time of the processors goes: busy or idle, by user, system and softirq, and by core."""

from typing import NamedTuple

from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.node.node import ROOT_NODE
from tunbench.runner.probe import About, Scene
from tunbench.runner.probes.shared import processor_time
from tunbench.runner.probes.shared.processor_time import Clock
from tunbench.runner.workload import Sample

TIMES = ("user", "system", "softirq")

# What is spent grows with what is carried: neither more nor less of it is better. `cost` sets one against the other.
ABOUT = About(
    name="processor",
    summary="time of the processors: busy, by user, system and softirq, and by core; context switches",
    metrics={
        "busy": Metric(
            "ratio", "time in which the processors were not idle, of all that they had", None, question=Question.COSTLY
        ),
        "user": Metric(
            "s", "processor time of programs, to the tick", None, question=Question.COSTLY, summed_over_cores=True
        ),
        "system": Metric(
            "s",
            "processor time of the kernel outside interrupts, to the tick",
            None,
            question=Question.COSTLY,
            summed_over_cores=True,
        ),
        "softirq": Metric(
            "s", "processor time of softirqs, to the tick", None, question=Question.COSTLY, summed_over_cores=True
        ),
        "context-switches": Metric("count", "switches between tasks", None, question=Question.COSTLY),
    },
)


class Reading(NamedTuple):
    """What the machine had spent, in seconds by core and by kind, and how often it had switched."""

    clock: Clock
    times: dict[str, dict[str, float]]
    switches: int


def read(scene: Scene) -> Reading:
    """Reads idle time and /proc/stat."""
    stat = scene.machine.read_if_there(processor_time.STAT)
    return Reading(processor_time.clock(scene.machine), processor_time.times(stat), processor_time.switches(stat))


def samples(before: Reading, after: Reading) -> list[Sample]:
    """The values of the machine and, where it has several, of each core."""
    busy = processor_time.between(before.clock, after.clock)
    if not busy.elapsed or not busy.by_core:
        return []
    found = [
        # The sum of cores that were busy all the time may be rounded up.
        Sample("busy", min(1.0, busy.total / busy.elapsed / len(busy.by_core)), node=ROOT_NODE),
        *(Sample(kind, _spent(before, after, "cpu", kind), node=ROOT_NODE) for kind in TIMES),
        Sample("context-switches", after.switches - before.switches, node=ROOT_NODE),
    ]
    for core, seconds in busy.by_core.items() if len(busy.by_core) > 1 else ():
        found.append(Sample("busy", seconds / busy.elapsed, node=core))
        found += [Sample(kind, _spent(before, after, core, kind), node=core) for kind in TIMES]
    return found


def _spent(before: Reading, after: Reading, core: str, kind: str) -> float:
    """Seconds of a kind; a program's own low priority (`nice`) is user time too. Raises ValueError."""
    kinds = ("user", "nice") if kind == "user" else (kind,)
    if core not in before.times or core not in after.times:
        raise ValueError(f"/proc/stat does not show {core}")
    spent = [after.times[core][one] - before.times[core][one] for one in kinds]
    return round(max(0.0, sum(spent)), 2)
