"""The native lab: the same runner in namespaces on this kernel, as root."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from tunbench.labs import payload
from tunbench.labs.carried import carried
from tunbench.labs.execution import Execution
from tunbench.labs.extras import DECIDING_EXTRAS, Extra, Needing, manifest_of, needed
from tunbench.labs.lab import LabError
from tunbench.labs.process_group import ProcessGroup
from tunbench.labs.real_time import host_state
from tunbench.labs.real_time.host_state import HostState
from tunbench.plan.axes.machine import Machine
from tunbench.plan.axes.stack import PlannedStack
from tunbench.plan.shard import Shard, canonical
from tunbench.plugins.folder import Plugin
from tunbench.runner.declare.access import Accesses
from tunbench.runner.node.node import HOME

NAMESPACES = ("--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc")
"""The runner is the first process of its own PID namespace: with it ends everything that it made."""

MOUNTED = (Path("/run"), HOME.parent)
"""Folders over which the runner mounts file systems of its own."""

KEPT_VARIABLES = ("LD_LIBRARY_PATH",)
"""What this interpreter may need to start; other variables of the caller, such as TMPDIR or LC_ALL, would make the
daemons of one user other ones than those of the next."""


@dataclass(frozen=True)
class NativeLab:
    """Namespaces on this kernel, at its own speed.

    `extras` are the tools and brought programs that are there for the stacks that need them, `plugins` those that are
    there for the shards that use them.
    """

    clock: str = "real"
    kind: str = "native"
    extras: tuple[Extra, ...] = ()
    plugins: tuple[Plugin, ...] = ()
    exclusive: bool = True
    hidden_folders: tuple[Path, ...] = MOUNTED

    @property
    def deciding_facts(self) -> Mapping[str, str]:
        """What `check` says that decides the numbers."""
        return DECIDING_EXTRAS

    def with_extras(self, extras: Iterable[Extra]) -> Self:
        """The same lab with these extras."""
        return replace(self, extras=tuple(extras))

    def with_plugins(self, plugins: Iterable[Plugin]) -> Self:
        """The same lab with these plug-ins."""
        return replace(self, plugins=tuple(plugins))

    def check(
        self, needing: Iterable[Needing], machines: Iterable[Machine] = (), accesses: Iterable[Accesses] = ()
    ) -> dict[str, Any]:
        """What the manifest says of this lab, whose one machine is this one. Raises LabError where it cannot run."""
        if os.geteuid() != 0:
            raise LabError(
                "the native lab needs root for its namespaces: run the same command with sudo, or use --lab vm"
            )
        stacks = (one for one in needing if isinstance(one, PlannedStack))
        if cluster := next((one.name for one in stacks if one.abouts[-1].pods), ""):
            raise LabError(
                f"{cluster} brings a cluster up, whose programs set values of the kernel that all namespaces "
                "share: use --lab vm"
            )
        return manifest_of(self.extras)

    def examine(self, shards: Sequence[Shard]) -> HostState:
        """The state of this machine, whose kernel and cores the nodes share."""
        return host_state.examine(shards, os.sched_getaffinity(0), nodes_share_kernel=True)

    def start(self, shard: Shard, folder: Path) -> Execution:
        """Starts the runner in namespaces of its own."""
        payload.unpack(folder / "payload", carried(shard, self.plugins))
        (folder / "shard.json").write_text(canonical(shard.spec()))
        argv = ["unshare", *NAMESPACES, sys.executable, "-m", "tunbench.runner"]
        argv += [str(folder / "shard.json"), str(folder / "events.jsonl")]
        return ProcessGroup(argv, folder, self._environment(shard, folder))

    def _environment(self, shard: Shard, folder: Path) -> dict[str, str]:
        """What programs in the lab see: as in a VM, but for where they are found, and Tunbench's own."""
        mine = os.environ.items()
        kept = {name: value for name, value in mine if name in KEPT_VARIABLES or name.startswith("TUNBENCH_")}
        own = [str(extra.folder / "bin") for extra in needed(shard.needing, self.extras)]
        path = [*own, os.environ.get("PATH", "")]
        return {
            **kept,
            "PATH": ":".join(path),
            "PYTHONPATH": str(folder / "payload"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LANG": "C.UTF-8",
            "HOME": str(MOUNTED[0]),
        }
