"""Which core a VM under the instruction clock is bound to.

QEMU's two threads take turns there: one waits while the other runs. On two cores each turn wakes up a core that has
gone idle, which can take longer than the turn; on one core it does not (docs/virtual-time.md).
"""

import fcntl
import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tunbench.runner.node import pinning

PROC = Path("/proc")

BOUND_TO_ONE_CORE = re.compile(r"^Cpus_allowed_list:\s*(\d+)$", re.MULTILINE)
"""A process that runs on one core alone, in /proc/PID/status: proc(5)."""


PATIENCE = 2.0
"""Seconds to wait for others who choose: that one chooses the same core is better than to wait for long."""


@contextmanager
def chosen() -> Iterator[int]:
    """A core for a VM that is started within: of those that do so at once, one chooses after the other.

    Raises OSError where /proc cannot be opened.
    """
    # What every process of this machine can open, whoever's it is.
    folder = os.open(PROC, os.O_RDONLY | os.O_CLOEXEC)
    try:
        ends = time.monotonic() + PATIENCE
        while not _locked(folder) and time.monotonic() < ends:
            time.sleep(0.01)
        yield least_taken()
    finally:
        os.close(folder)


@contextmanager
def taken() -> Iterator[None]:
    """Within it, what this thread starts is bound to such a core. Raises OSError."""
    with chosen() as core, pinning.kept_to({core}):
        yield


def least_taken() -> int:
    """The core, of those that this thread may use, to which the fewest processes of this machine are bound."""
    taken = Counter(_cores_bound_to())
    return min(pinning.in_order(os.sched_getaffinity(0)), key=lambda core: taken[core])


def _locked(folder: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _cores_bound_to() -> list[int]:
    """The core of each process that is bound to one. Threads of the kernel, which have no memory, do not count."""
    return [int(found[1]) for text in _statuses() if "VmSize:" in text and (found := BOUND_TO_ONE_CORE.search(text))]


def _statuses() -> Iterator[str]:
    for status in PROC.glob("[0-9]*/status"):
        # A process may end meanwhile.
        with suppress(OSError):
            yield status.read_text(errors="replace")
