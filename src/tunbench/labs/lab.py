"""The contract of a lab: a place where shards execute. Each lab is a package of its own beside this file.

What one lab does otherwise than the others it says here, so that nobody else asks which kind it is.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

from tunbench.labs.execution import Execution
from tunbench.labs.extras import Extra, Needing
from tunbench.labs.real_time.host_state import HostState
from tunbench.plan.axes.machine import Machine
from tunbench.plan.shard import Shard
from tunbench.plugins.folder import Plugin
from tunbench.runner.declare.access import Accesses

TEMPLATE, FRESH_BOOT = "template", "fresh boot"
"""What a shard can start from, as a manifest says it."""


class LabError(Exception):
    """The machine cannot run the lab; the message says why, and the mend."""


class Lab(Protocol):
    """What all others know of a lab."""

    @property
    def kind(self) -> str:
        """What a plan calls it."""

    @property
    def clock(self) -> str:
        """Whether its time is `virtual`, which nothing disturbs, or `real`."""

    @property
    def extras(self) -> tuple[Extra, ...]:
        """The tools and brought programs that are there for the stacks that need them."""

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """The plug-ins that are there for the shards that use them."""

    @property
    def exclusive(self) -> bool:
        """Whether it takes the whole machine, so that two of its runs would measure each other."""

    @property
    def hidden_folders(self) -> tuple[Path, ...]:
        """Folders of this machine that its runner does not see: a run cannot lie in them."""

    @property
    def deciding_facts(self) -> Mapping[str, str]:
        """What `check` says that decides the numbers, each with its name: within a run none of it may change."""

    def with_extras(self, extras: Iterable[Extra]) -> Self:
        """The same lab with these extras."""

    def with_plugins(self, plugins: Iterable[Plugin]) -> Self:
        """The same lab with these plug-ins."""

    def check(
        self, needing: Iterable[Needing], machines: Iterable[Machine], accesses: Iterable[Accesses]
    ) -> dict[str, Any]:
        """What the manifest says of it. Raises LabError and ImageError where it cannot run these."""

    def examine(self, shards: Sequence[Shard]) -> HostState | None:
        """The state of the hosts before a run, as far as it has a part in the numbers; None where it has none."""

    def start(self, shard: Shard, folder: Path) -> Execution:
        """Starts the runner with a shard; what it writes goes to the folder."""
