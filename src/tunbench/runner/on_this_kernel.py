"""Executes a shard on this kernel, whose nodes are namespaces: in a VM, and in namespaces of a lab of a machine."""

import os
import subprocess
from collections.abc import Mapping
from typing import Any

from tunbench.runner.network.emulated import EmulatedNetwork
from tunbench.runner.node.events import Events
from tunbench.runner.node.node import HOME
from tunbench.runner.node.shell import LocalShell
from tunbench.runner.shard import live


def make_folders() -> None:
    """The lab's own /run and /mnt, in memory: nothing is left of them, and nothing of the machine's is touched."""
    for folder in ("/run", HOME.parent):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(folder)], check=True)


def execute(spec: Mapping[str, Any], events: Events) -> None:
    """Lives through a shard and writes its events; the lab's own folders are there."""
    live(spec, EmulatedNetwork(LocalShell(), os.sched_getaffinity(0)), events)
