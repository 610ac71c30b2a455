"""A plan as it is inside: checked, and in types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tunbench.plan.axes.reader import AxisValue
from tunbench.plan.axes.workload import Workload
from tunbench.plan.cut import Pattern
from tunbench.plan.until import Until

AUTO = "auto"
"""The native lab where this machine can run all of the plan in it, else the vm lab: decided before a run begins."""

LAB_KINDS = ("vm", "native", AUTO)
LATER_LAB_KINDS = ("ssh",)
CLOCKS = ("virtual", "real")


@dataclass(frozen=True)
class Lab:
    """Where a plan runs, and on which clock: a vm lab's is virtual unless it says otherwise, the native one's is real.

    With `auto` the clock is that of the vm lab, if it comes to that.
    """

    kind: str = "vm"
    clock: str = "virtual"


@dataclass(frozen=True)
class Plan:
    """A checked plan. `values` are those of each axis, by its name, in the order of expansion.

    Among the stacks are the bare ones that they are compared with.
    """

    name: str
    seed: int
    repeats: int
    values: Mapping[str, Sequence[AxisValue]]
    include: Sequence[Pattern]
    exclude: Sequence[Pattern]
    probes: Sequence[str] | None
    until: Until | None
    lab: Lab

    @property
    def axes(self) -> dict[str, list[str]]:
        """The names of the values of each axis."""
        return {axis: [one.name for one in values] for axis, values in self.values.items()}

    @property
    def workloads(self) -> Sequence[Workload]:
        """What is measured."""
        found: Any = self.values["workload"]
        return list(found)
