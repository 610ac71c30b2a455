"""The axes of a cell, defined once: what a plan multiplies, and what shards, samples, patterns and reports know it by.

A new axis is a line in AXES, a file of its name in `plan/axes` that reads its values, and what the runner does with
the value that a shard has of it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Axis(NamedTuple):
    """An axis: its name in cells, samples and patterns, its key in a plan, and the value of a plan without that key.

    A plan must have the key where there is no such value. An axis that is `tacit` goes without saying in names as long
    as its value is that one; of one that is `unsaid`, a shard does not name that value either: shards from before there
    was the axis, and their fingerprints, stay what they were.
    """

    name: str
    key: str
    default: str = ""
    tacit: bool = False
    unsaid: bool = False

    @property
    def takes_one(self) -> bool:
        """Whether the key takes a value that stands in no list: it is in the singular."""
        return self.key == self.name

    @property
    def plural(self) -> str:
        """What a manifest calls a list of its values."""
        return f"{self.name}es" if self.name.endswith("s") else f"{self.name}s"


AXES = (
    Axis("access", "access", "none", tacit=True, unsaid=True),
    Axis("link", "link", "wire", tacit=True),
    Axis("topology", "topology", "pair", tacit=True),
    Axis("tuning", "tuning", "default", tacit=True),
    Axis("machine", "machine", "full", tacit=True),
    Axis("profile", "profiles", "baseline"),
    Axis("stack", "stacks"),
    Axis("workload", "workloads"),
)
"""All of them, in the order in which a plan is expanded: the last one varies fastest."""

NAMES = tuple(axis.name for axis in AXES)

USUAL = {axis.name: axis.default for axis in AXES if axis.tacit}
"""The value that goes without saying, of each axis that has one."""

UNSAID = {axis.name: axis.default for axis in AXES if axis.unsaid}
"""The value that a shard does not name, of each axis that has one."""

CONDITION = ("profile", *USUAL)
"""What stacks are compared under; a report calls the names of its values together a condition."""

SHARD = ("stack", *CONDITION)
"""What the trials of one boot share; a shard has a repeat and a seed besides."""

CELL = (*SHARD, "workload")
"""What a cell is, in the order of columns."""

TRIAL = (*CELL, "repeat", "seed")
"""What a trial is, in the order of columns."""


def said(names: Mapping[str, Any]) -> dict[str, Any]:
    """What a shard or cell says of axes, without what goes unsaid."""
    return {axis: value for axis, value in names.items() if axis not in UNSAID or value != UNSAID[axis]}
