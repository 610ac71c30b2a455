"""How near two cores of this machine are to each other: a hypervisor may move them from one moment to the next.

On a virtual machine of two cores (AMD EPYC, Linux 6.18) a byte was at the other core and back within 0.2 µs, or within
0.6 µs while the hypervisor had the two further apart. iperf3 between bare nodes then had 12 Gbit/s
instead of 30, in test after test, until seconds or minutes later they were moved again.

This file is also the program that looks: it forks, which a process with threads and locks had better not.
"""

import mmap
import os
import subprocess
import sys
import time

TURNS, ROUNDS = 400, 10
"""How often a byte goes there and back in a round, and how many rounds there are: 4,000 take about a millisecond."""

ASKED, ANSWERED = 0, 1024
"""Where the bytes of the two sides lie: far enough from each other to share no cache line."""

SPINS = 200_000
"""How often one side looks for the other's byte before it gives up: some 10 ms."""

PATIENCE = 1.0
"""Seconds that the program may take."""


def ends() -> tuple[int, int]:
    """The first and the last core of those that this process may use."""
    usable = os.sched_getaffinity(0)
    return min(usable), max(usable)


def round_trip(first: int, last: int) -> float:
    """Seconds that a byte takes from one core to another and back, with Python's own share: the least mean of a round.

    0.0 where that cannot be seen: they are one core, one of them is busy, or no process can be started.
    """
    if first == last:
        return 0.0
    look = [sys.executable, "-I", "-S", __file__, str(first), str(last)]
    try:
        return float(subprocess.run(look, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return 0.0


def _ask(shared: mmap.mmap) -> float:
    """The mean of each round's turns, of which the least is the answer."""
    means = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for turn in range(TURNS):
            shared[ASKED] = turn % 2 + 1
            _await(shared, ANSWERED, turn % 2 + 1)
        means.append((time.perf_counter() - begun) / TURNS)
    return min(means)


def _answer(shared: mmap.mmap) -> None:
    """Gives each byte back."""
    for turn in range(TURNS * ROUNDS):
        _await(shared, ASKED, turn % 2 + 1)
        shared[ANSWERED] = turn % 2 + 1


def _await(shared: mmap.mmap, place: int, byte: int) -> None:
    for _ in range(SPINS):
        if shared[place] == byte:
            return
    # Nothing is left that spins, whatever became of the other side.
    raise TimeoutError("the other core does not answer")


def main(first: int, last: int) -> None:
    """Prints the round trip between two cores in seconds. Raises TimeoutError where one of them does not answer."""
    shared = mmap.mmap(-1, mmap.PAGESIZE)
    if os.fork():
        try:
            os.sched_setaffinity(0, {first})
            print(_ask(shared))
        finally:
            os.wait()
    else:
        os.sched_setaffinity(0, {last})
        _answer(shared)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
