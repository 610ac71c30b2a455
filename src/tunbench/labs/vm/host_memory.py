"""Whether this machine has the memory for a VM whose stack needs more than the usual."""

import re
from collections.abc import Iterable
from pathlib import Path

from tunbench.labs.lab import LabError
from tunbench.labs.vm.boot import most_bytes
from tunbench.plan.axes.stack import PlannedStack

MEMORY = Path("/proc/meminfo")


def check(stacks: Iterable[PlannedStack]) -> None:
    """Raises LabError where the largest VM of these stacks has no room. One of the usual size is taken for granted."""
    largest = max((one for one in stacks if one.memory), key=lambda one: (one.memory, one.name), default=None)
    if not largest:
        return
    takes, there = most_bytes(largest.memory) / 2**30, available()
    if takes > there:
        raise LabError(
            f"{largest.name} runs in a VM that takes {takes:g} GiB of memory, and this machine has {there:.1f} GiB to "
            "spare: end what takes memory, or take the stack away"
        )


def available() -> float:
    """GiB that this machine can give without swapping: MemAvailable of proc(5)."""
    [kib] = re.findall(r"^MemAvailable: +(\d+) kB", MEMORY.read_text(), re.MULTILINE)
    return int(kib) / (1 << 20)
