"""The lab that a plan or the command line names, and with `auto` the one that can run all of the plan."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tunbench.doctor import requirements
from tunbench.labs.native.lab import NativeLab
from tunbench.labs.vm.lab import VmLab
from tunbench.plan.model import AUTO, Lab
from tunbench.plan.shard import Shard

SHOWN = 3
"""Things that the native lab lacks which are named; of more, it says how many."""


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
    more = f" and {len(missing) - SHOWN} more things" if len(missing) > SHOWN else ""
    return Choice("vm", lab.clock, f"lab vm: natively this machine lacks {', '.join(missing[:SHOWN])}{more}")


def lab(kind: str, clock: str) -> VmLab | NativeLab:
    """The lab of that kind; the native one has only the real clock."""
    return NativeLab() if kind == "native" else VmLab(clock)
