"""The native lab: the same runner in namespaces on this kernel, as root."""

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tunbench.labs import payload
from tunbench.labs.execution import Execution
from tunbench.labs.extras import Extra, needed, told
from tunbench.labs.vm import LabError
from tunbench.plan.shard import Machine, Shard, canonical
from tunbench.runner.node import HOME

NAMESPACES = ("--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc")
"""The runner is the first process of its own PID namespace: with it ends everything that it made."""

OWN = (Path("/run"), HOME.parent)
"""Folders over which the runner mounts file systems of its own."""


@dataclass(frozen=True)
class NativeLab:
    """Namespaces on this kernel, at its own speed.

    `extras` are the tools and brought programs that are there for the stacks that need them.
    """

    clock: str = "real"
    kind: str = "native"
    extras: tuple[Extra, ...] = ()

    def check(self, stacks: Iterable[str], machines: Iterable[Machine] = ()) -> dict[str, Any]:
        """What the manifest says of this lab, whose one machine is this one. Raises LabError where it cannot run."""
        if os.geteuid() != 0:
            raise LabError(
                "the native lab needs root for its namespaces: run the same command with sudo, or use --lab vm"
            )
        return told(self.extras)

    def start(self, shard: Shard, folder: Path) -> Execution:
        """Starts the runner in namespaces of its own."""
        payload.unpack(folder / "payload")
        (folder / "shard.json").write_text(canonical(shard.spec()))
        argv = ["unshare", *NAMESPACES, sys.executable, "-m", "tunbench.runner"]
        argv += [str(folder / "shard.json"), str(folder / "events.jsonl")]
        path = [*(str(extra.folder / "bin") for extra in needed(shard.stack, self.extras)), os.environ.get("PATH", "")]
        environment = {"PYTHONPATH": str(folder / "payload"), "PYTHONDONTWRITEBYTECODE": "1", "PATH": ":".join(path)}
        return Execution(argv, folder, environment)
