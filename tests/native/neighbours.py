"""Whether the machine's cores are near to each other: where a hypervisor moves them apart, TCP is of half its rate.

On a virtual machine of two cores (AMD EPYC, Linux 6.18) a byte was at the other core and back within 0.2 µs, or within
0.6 µs while the hypervisor had the two on cores without a common cache. iperf3 between bare nodes then had 12 Gbit/s
instead of 30, in test after test, until seconds or minutes later they were moved again.
"""

import math
import mmap
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager

LATENCY = "/dev/cpu_dma_latency"
"""While this is open with a 0 in it, idle cores poll instead of halting: Documentation/power/pm_qos_interface.rst. A
core that never halts is one that a hypervisor never wakes, and waking is when it chooses a place for it."""

FAR = 1.7
"""How many times the shortest round trip one has between cores that are far from each other."""

REST = 0.5
"""Seconds in which idle cores halt, so that they are placed anew."""

LOOKS = 10
"""How often they are placed anew to learn what the shortest round trip is."""

PATIENCE = 600
"""Seconds to wait until they are near to each other."""

TURNS, ROUNDS = 400, 10
ASKED, ANSWERED = 0, 1024
"""Where the bytes of the two sides lie: far enough from each other to share no cache line."""


class Cores:
    """The first and the last core of this process. `moves` counts how often they had to be placed anew."""

    def __init__(self) -> None:
        self.ends = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
        self.shortest = math.inf
        self.moves = 0
        self.awake = _awake()

    def near(self) -> bool:
        """Whether they are as near to each other as they have been seen."""
        found = round_trip(*self.ends)
        self.shortest = min(self.shortest, found)
        return found <= FAR * self.shortest

    def come_near(self) -> None:
        """Waits until they are near to each other. Raises TimeoutError after PATIENCE."""
        end = time.monotonic() + PATIENCE
        while not self.near():
            if time.monotonic() > end:
                raise TimeoutError(f"the machine's cores were far from each other for {PATIENCE} s")
            self.rest()
            self.moves += 1

    def rest(self) -> None:
        """Lets idle cores halt for a moment."""
        os.close(self.awake)
        time.sleep(REST)
        self.awake = _awake()


@contextmanager
def awake() -> Iterator[Cores]:
    """The cores, which poll where they are idle and so stay where they are, until the end."""
    cores = Cores()
    try:
        for _ in range(LOOKS):
            cores.rest()
            cores.near()
        yield cores
    finally:
        os.close(cores.awake)


def round_trip(first: int, last: int) -> float:
    """Seconds that a byte takes from one core to another and back, with Python's own: the least of ROUNDS means."""
    if first == last:
        return 0.0
    with mmap.mmap(-1, mmap.PAGESIZE) as shared:
        other = os.fork()
        if not other:
            _answer(shared, last)
        mine = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {first})
        try:
            return min(_asked(shared) for _ in range(ROUNDS))
        finally:
            os.sched_setaffinity(0, mine)
            os.waitpid(other, 0)


def _asked(shared: mmap.mmap) -> float:
    begun = time.perf_counter()
    for turn in range(TURNS):
        shared[ASKED] = number = turn % 2 + 1
        while shared[ANSWERED] != number:
            pass
    return (time.perf_counter() - begun) / TURNS


def _answer(shared: mmap.mmap, core: int) -> None:
    """Gives each byte back, in a process of its own."""
    os.sched_setaffinity(0, {core})
    for turn in range(TURNS * ROUNDS):
        number = turn % 2 + 1
        while shared[ASKED] != number:
            pass
        shared[ANSWERED] = number
    os._exit(0)


def _awake() -> int:
    """The open file that keeps idle cores from halting."""
    handle = os.open(LATENCY, os.O_WRONLY | os.O_CLOEXEC)
    os.write(handle, struct.pack("i", 0))
    return handle
