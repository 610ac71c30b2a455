"""What is measured, declared where it is measured: unit, meaning, direction, bounds, and the question it answers."""

import math
from enum import StrEnum
from typing import NamedTuple


class Bounds(NamedTuple):
    """The least and the largest value that there can be, in the SI unit."""

    low: float
    high: float


UNBOUNDED = Bounds(-math.inf, math.inf)

MAX_CORES = 1024
"""Processors of a machine at most: so many times a trial's length they compute in it."""

TIME = "s"
"""The unit of what cannot have lasted longer than the trial itself."""

BOUNDS = {
    "bit/s": Bounds(0, 1e13),
    "B": Bounds(0, 1e15),
    "s": Bounds(0, math.inf),
    "s/B": Bounds(0, 1e6),
    "ratio": Bounds(0, 1),
    "count": Bounds(0, 1e15),
    "1/s": Bounds(0, 1e12),
    "1/min": Bounds(0, 1e12),
    "Hz": Bounds(0, 1e11),
    "°C": Bounds(-273.15, 1000),
    "J": Bounds(0, 1e9),
}
"""The bounds of each unit. The fastest Ethernet carries 1.6 Tbit/s: IEEE P802.3dj."""


class Question(StrEnum):
    """What a reader of a report asks, in the order of its sections."""

    FAST = "fast"
    LATE = "late"
    COSTLY = "costly"
    RECOVERS = "recovers"
    WIRE = "wire"
    OTHER = "other"


OF_UNIT = {"bit/s": Question.FAST, "1/s": Question.FAST, "1/min": Question.LATE, "s": Question.LATE}
"""The question that a metric of such a unit answers unless it says otherwise; of all others it is OTHER."""


class Metric(NamedTuple):
    """A metric that a workload or probe yields.

    `unit` is its SI unit. More of it is better, or less, or neither (None). It answers its `question`, or else that of
    its unit; a `main` one is what the question is about, others bear on it. `bounds` are those of its unit unless it
    has its own. It is `summed_over_cores` where it is a time that all processors spend together. A `followed` one is
    drawn over what profiles and options vary, one that is `followed_over_options` over options alone. One that is
    `at_a_glance` stands in the tables that show a whole run on one screen.
    """

    unit: str
    summary: str
    more_is_better: bool | None = False
    question: Question | None = None
    main: bool = False
    bounds: Bounds | None = None
    summed_over_cores: bool = False
    followed: bool = False
    followed_over_options: bool = False
    at_a_glance: bool = False

    @property
    def answers(self) -> Question:
        """The question that it answers."""
        return self.question or OF_UNIT.get(self.unit, Question.OTHER)

    @property
    def limits(self) -> Bounds:
        """The bounds of its values. Raises KeyError where the unit has none."""
        return self.bounds or BOUNDS[self.unit]


BRING_UP = "up"
"""The workload of the time that a stack takes to come up: every shard has it, and no plan lists it."""

OF_BRING_UP = {
    "connect": Metric(
        "s",
        "time until the first endpoint had an answer from every other one",
        question=Question.RECOVERS,
        main=True,
    ),
    "opened-ports": Metric(
        "count",
        "ports that the gateway of an endpoint holds open to who asked it, where it opens any (`portmap`)",
        question=Question.RECOVERS,
        more_is_better=None,
    ),
}
"""What is measured of bringing a stack up."""

LAYER_DROPS, SOCKET_DROPS, PACKETS_CUT = "layer-drops", "socket-drops", "packets-cut"
COUNTED = {
    LAYER_DROPS: Metric(
        "count",
        "packets that layers of the stack dropped on a node, for reasons that they told",
        question=Question.LATE,
    ),
    SOCKET_DROPS: Metric(
        "count",
        "datagrams that found a UDP socket of a node full, a daemon's or the workload's own",
        question=Question.LATE,
    ),
    PACKETS_CUT: Metric("count", "packets that a node cut into fragments", question=Question.WIRE),
}
"""What the nodes of a stack count beside every workload, its own metrics aside: why packets vanish, and fragments."""
