"""What is to be run: a plan with its shards, the lab, and what the command line overrode."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from tunbench.doctor import choose_lab
from tunbench.labs import registry as labs
from tunbench.labs.lab import Lab
from tunbench.plan.expand import expand
from tunbench.plan.load import Loaded, reference_of
from tunbench.plan.load import read as read_plan
from tunbench.plan.model import Plan
from tunbench.plan.shard import Shard, needing_of
from tunbench.plugins import taken
from tunbench.toolbox.selection import ToolboxNeeds, at_hand, needs_of


class RunError(Exception):
    """A run cannot begin or go on; the message says why, and the mend."""


class Order(NamedTuple):
    """What is to be run: the plan as it was read, its shards, the lab, and what the command line overrode.

    With `until` the shards are the first blocks; what is asked for besides follows from samples (`blocks.Schedule`).
    `reference` is the file of a study's published numbers. `toolbox` is what the stacks need of it.
    `why_this_lab` says which lab was chosen and why, where the plan left it open.
    """

    loaded: Loaded
    shards: Sequence[Shard]
    lab: Lab
    overrides: dict[str, Any]
    reference: Path | None = None
    toolbox: ToolboxNeeds = ToolboxNeeds((), {})
    why_this_lab: str = ""

    @property
    def plan(self) -> Plan:
        """The plan at the scale at which it is run."""
        return self.loaded.plan


def default_folder(name: str) -> Path:
    """`runs/<time>-<plan>`, as free of surprises as a name can be."""
    return Path("runs") / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{name}"


def read_order(
    text: str, file: str, overrides: dict[str, Any], given: Mapping[str, str] = MappingProxyType({})
) -> Order:
    """What a plan's text asks for, with what the command line overrides, and the files of brought programs.

    Raises PlanError, ToolError and ImageError.
    """
    return order_of(read_plan(text, Path(file), overrides), overrides, given)


def order_of(loaded: Loaded, overrides: dict[str, Any], given: Mapping[str, str] = MappingProxyType({})) -> Order:
    """What a plan asks for that was read with what the command line overrides, and the files of brought programs.

    Raises PlanError, ToolError and ImageError.
    """
    shards = expand(loaded.plan)
    needs = needs_of(needing_of(shards), given)
    choice = choose_lab.auto(loaded.plan.lab, shards, needs.files)
    if choice:
        # As if the command line had asked for it, so that the run goes on in the same lab.
        overrides = {**overrides, **choice.overrides}
        loaded = loaded.in_lab(choice.kind, choice.clock)
    lab = labs.lab(loaded.plan.lab.kind, loaded.plan.lab.clock)
    lab = lab.with_extras(at_hand(needs)).with_plugins(taken.plugins())
    return Order(loaded, shards, lab, overrides, reference_of(loaded), needs, choice.why if choice else "")
