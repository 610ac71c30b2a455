"""Chooses the lab of a plan that leaves it open: the one that can run all of it on this machine."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tunbench.doctor import native_requirements
from tunbench.doctor.native_requirements import Lack
from tunbench.plan.model import AUTO, DEFAULT_LAB_KIND, LabChoice, clocks_of
from tunbench.plan.shard import Shard

PREFERRED_LAB_KIND = "native"
"""It is chosen where it lacks nothing, and the default lab else."""

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


def auto(lab: LabChoice, shards: Sequence[Shard], files: Mapping[str, str | None]) -> Choice | None:
    """The lab of a plan that leaves it open: native where that lacks nothing of these shards. None for any other plan.

    `files` are those of brought programs.
    """
    if lab.kind != AUTO:
        return None
    missing = native_requirements.of_plan(shards, files)
    if not missing:
        return _choice(PREFERRED_LAB_KIND, clocks_of(PREFERRED_LAB_KIND)[0], "this machine has all that the plan needs")
    return _choice(DEFAULT_LAB_KIND, lab.clock, lacking(missing))


def lacking(missing: Sequence[Lack]) -> str:
    """The first things that the native lab lacks, and how many more they are."""
    more = f" and {len(missing) - MAX_NAMED} more things" if len(missing) > MAX_NAMED else ""
    return f"natively this machine lacks {', '.join(one.what for one in missing[:MAX_NAMED])}{more}"


def _choice(kind: str, clock: str, why: str) -> Choice:
    return Choice(kind, clock, f"lab {kind}: {why}")
