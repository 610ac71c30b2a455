"""Cost: how long the whole machine was busy for each byte and each packet that the stack carried."""

from typing import NamedTuple

from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.node.node import ROOT_NODE
from tunbench.runner.probe import About, Scene
from tunbench.runner.probes.shared import overlay_traffic, processor_time
from tunbench.runner.probes.shared.overlay_traffic import Carried
from tunbench.runner.probes.shared.processor_time import Clock
from tunbench.runner.workload import Sample

ABOUT = About(
    name="cost",
    summary="busy time of the machine for each byte and packet that the stack carried",
    metrics={
        "cost": Metric(
            "s/B",
            "busy time of both ends and what stands between them, for a byte that the stack carried",
            question=Question.COSTLY,
            main=True,
            followed_over_options=True,
            at_a_glance=True,
        ),
        "cost-packet": Metric(
            "s", "the same for a packet, as the overlay's interface counts packets", question=Question.COSTLY
        ),
        "carried": Metric(
            "B", "what arrived at the overlay's interface, on both ends", more_is_better=None, question=Question.COSTLY
        ),
        "packets": Metric(
            "count",
            "packets that arrived at the overlay's interface, on both ends",
            more_is_better=None,
            question=Question.COSTLY,
        ),
    },
    closest=True,
)


class Reading(NamedTuple):
    """What the machine had spent, and what the stack had carried."""

    clock: Clock
    carried: Carried


def read(scene: Scene) -> Reading:
    """Reads idle time and the counters of interfaces."""
    arrived = overlay_traffic.arrived(scene)
    return Reading(processor_time.clock(scene.machine), arrived)


def samples(before: Reading, after: Reading) -> list[Sample]:
    """The cost, where anything was carried, and what it is a ratio of."""
    busy = processor_time.between(before.clock, after.clock).total
    size = after.carried.size - before.carried.size
    packets = after.carried.packets - before.carried.packets
    # An interface that was made anew meanwhile counts from 0.
    if size <= 0 or packets <= 0:
        return []
    values = {"cost": busy / size, "cost-packet": busy / packets, "carried": size, "packets": packets}
    return [Sample(metric, value, node=ROOT_NODE) for metric, value in values.items()]
