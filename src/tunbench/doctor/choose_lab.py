"""Chooses the lab of a plan that leaves it open: the one that can run all of it on this machine."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tunbench.doctor import requirements
from tunbench.plan.model import AUTO, Lab
from tunbench.plan.shard import Shard

MAX_NAMED = 3
"""Of so many things that the native lab lacks the names are said, and of more how many there are."""


class Choice(NamedTuple):
    """The lab that was chosen and its clock, and why, on one line."""

    kind: str
    clock: str
    why: str

    @property
    def overrides(self) -> dict[str, str]:
        """The options of the command line that ask for it."""
        return {"lab": self.kind, "clock": self.clock}


def auto(lab: Lab, shards: Sequence[Shard], files: Mapping[str, str | None]) -> Choice | None:
    """The lab of a plan that leaves it open: native where that lacks nothing of these shards. None for any other plan.

    `files` are those of brought programs.
    """
    if lab.kind != AUTO:
        return None
    missing = [lack.what for lack in requirements.of_plan(shards, files)]
    if not missing:
        return Choice("native", "real", "lab native: this machine has all that the plan needs")
    more = f" and {len(missing) - MAX_NAMED} more things" if len(missing) > MAX_NAMED else ""
    return Choice("vm", lab.clock, f"lab vm: natively this machine lacks {', '.join(missing[:MAX_NAMED])}{more}")
