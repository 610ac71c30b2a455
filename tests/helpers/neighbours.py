"""Cores that stay near to each other while something is measured, though the machine be a virtual one."""

import math
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tunbench.labs.real_time.core_distance import Cores, first_and_last_core
from tunbench.labs.real_time.noise import MOVED_APART_RATIO

LATENCY = "/dev/cpu_dma_latency"
"""While this is open with a 0 in it, idle cores poll instead of halting: Documentation/power/pm_qos_interface.rst. A
core that never halts is one that a hypervisor never wakes, and it seems to choose a place for it when it does."""

REST = 0.5
"""Seconds in which idle cores halt, so that they are placed anew."""

LOOKS = 10
"""How often they are placed anew to learn what the shortest round trip is."""

PATIENCE = 600
"""Seconds to wait until they are near to each other."""


class Neighbours:
    """The first and the last core of this process."""

    def __init__(self, both: Cores) -> None:
        self.both = both
        self.shortest = math.inf
        self.awake = _awake()

    def near(self) -> bool:
        """Whether they are as near to each other as they have been seen."""
        # Where one of them does not answer at once they are far from each other; one core alone never is.
        found = self.both.round_trip() or math.inf
        self.shortest = min(self.shortest, found)
        return found <= MOVED_APART_RATIO * self.shortest

    def come_near(self) -> None:
        """Waits until they are near to each other. Raises TimeoutError after PATIENCE."""
        end = time.monotonic() + PATIENCE
        while not self.near():
            if time.monotonic() > end:
                raise TimeoutError(f"the machine's cores were far from each other for {PATIENCE} s")
            self.rest()

    def rest(self) -> None:
        """Lets idle cores halt for a moment."""
        os.close(self.awake)
        time.sleep(REST)
        self.awake = _awake()


@contextmanager
def awake() -> Iterator[Neighbours]:
    """The cores, which poll where they are idle and so stay where they are, until the end."""
    with Cores(*first_and_last_core()) as both:
        held = Neighbours(both)
        try:
            for _ in range(LOOKS):
                held.rest()
                held.near()
            yield held
        finally:
            os.close(held.awake)


def _awake() -> int:
    """The open file that keeps idle cores from halting."""
    handle = os.open(LATENCY, os.O_WRONLY | os.O_CLOEXEC)
    os.write(handle, struct.pack("i", 0))
    return handle
