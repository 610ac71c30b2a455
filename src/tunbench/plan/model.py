"""A plan as it is inside: checked, and in types."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tunbench.plan.axes.reader import AxisValue
from tunbench.plan.axes.workload import Workload
from tunbench.plan.cut import Pattern
from tunbench.plan.until import Until

LAB_CLOCKS = {"vm": ("virtual", "real"), "native": ("real",)}
"""The clocks of each kind of lab: the first is the one that it has unless a plan says otherwise."""

DEFAULT_LAB_KIND = "vm"

AUTO = "auto"
"""The native lab where this machine can run all of the plan in it, else the vm lab: decided before a run begins."""

LAB_KINDS = (*LAB_CLOCKS, AUTO)
"""What a plan or the command line may ask for."""

LATER_LAB_KINDS = ("ssh",)

CLOCKS = tuple(dict.fromkeys(clock for clocks in LAB_CLOCKS.values() for clock in clocks))


def clocks_of(kind: str) -> Sequence[str]:
    """The clocks that can be asked for of a kind: with `auto` those of the vm lab, if it comes to that."""
    return LAB_CLOCKS[DEFAULT_LAB_KIND if kind == AUTO else kind]


@dataclass(frozen=True)
class LabChoice:
    """Where a plan runs, and on which clock: one of those of LAB_CLOCKS."""

    kind: str = DEFAULT_LAB_KIND
    clock: str = clocks_of(DEFAULT_LAB_KIND)[0]


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
    lab: LabChoice

    @property
    def axes(self) -> dict[str, list[str]]:
        """The names of the values of each axis."""
        return {axis: [one.name for one in values] for axis, values in self.values.items()}

    @property
    def workloads(self) -> Sequence[Workload]:
        """What is measured."""
        found: Any = self.values["workload"]
        return list(found)
