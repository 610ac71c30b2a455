"""The axes of a cell, defined once: a plan is their product, and what a shard, a sample or a pattern has follows."""

from typing import NamedTuple


class Axis(NamedTuple):
    """An axis: its name in cells, samples and patterns, its key in a plan, and the usual value.

    The usual value is what a plan has that names none, and it goes without saying in names; empty where every name
    says the value.
    """

    name: str
    key: str
    usual: str = ""


AXES = (
    Axis("topology", "topology", "pair"),
    Axis("tuning", "tuning", "default"),
    Axis("machine", "machine", "full"),
    Axis("profile", "profiles"),
    Axis("stack", "stacks"),
    Axis("workload", "workloads"),
)
"""All of them, in the order in which a plan is expanded: the last one varies fastest."""

NAMES = tuple(axis.name for axis in AXES)

USUAL = {axis.name: axis.usual for axis in AXES if axis.usual}
"""The usual value of each axis that has one."""

CONDITION = ("profile", *USUAL)
"""What stacks are compared under; a report calls the names of its values together a condition."""

SHARD = ("stack", *CONDITION)
"""What the trials of one boot share; a shard has a repeat and a seed besides."""

CELL = (*SHARD, "workload")
"""What a cell is, in the order of columns."""
