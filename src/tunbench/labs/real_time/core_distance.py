"""How near two cores of this machine are to each other: a hypervisor may move them from one moment to the next.

On a virtual machine of two cores (AMD EPYC, Linux 6.18) a byte was at the other core and back within 0.2 µs, or within
0.6 µs while the hypervisor had the two further apart. iperf3 between bare nodes then had 12 Gbit/s
instead of 30, in test after test, until seconds or minutes later they were moved again.

This file is also the program that looks: it forks, which a process with threads and locks had better not. It is started
once and waits to be asked, because to start Python takes ten times as long as to look.
"""

import mmap
import os
import select
import subprocess
import sys
import time
from typing import Self

TURNS_A_ROUND, ROUNDS = 400, 10
"""How often a byte goes there and back: 4,000 turns take about a millisecond."""

QUESTION_AT, ANSWER_AT = 0, 1024
"""Where in the shared memory the bytes of the two sides lie: far enough from each other to share no cache line."""

SPINS = 200_000
"""How often one side looks for the other's byte before it gives up: some 10 ms."""

ANSWER_TIMEOUT = 1.0
"""Seconds that an answer, or the end of the program, may take."""

LOOK_AGAIN = b"\n"
"""What the program is told."""


def first_and_last_core() -> tuple[int, int]:
    """The first and the last core of those that this process may use."""
    usable = os.sched_getaffinity(0)
    return min(usable), max(usable)


class Cores:
    """Two cores, and the program that waits on them; it ends with this process, however that happens."""

    def __init__(self, first: int, last: int) -> None:
        self.ends = first, last
        self.program: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def round_trip(self) -> float:
        """Seconds that a byte takes from one to the other and back, with Python's own share: the least mean of a round.

        0.0 where that cannot be seen: they are one core, one of them is busy, or no process can be started.
        """
        if len(set(self.ends)) == 1:
            return 0.0
        try:
            self.program = self.program or _started(*self.ends)
            return _answered(self.program)
        except (OSError, ValueError):
            self.close()
            return 0.0

    def close(self) -> None:
        """Ends the program, which the next look starts anew."""
        program, self.program = self.program, None
        if program:
            try:
                program.communicate(timeout=ANSWER_TIMEOUT)
            except subprocess.TimeoutExpired:
                program.kill()
                program.communicate()


def _started(first: int, last: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, str(first), str(last)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        process_group=0,
    )


def _answered(program: "subprocess.Popen[bytes]") -> float:
    """The answer to one question. Raises OSError or ValueError where the program has ended or takes too long."""
    assert program.stdin and program.stdout
    program.stdin.write(LOOK_AGAIN)
    if not select.select([program.stdout], [], [], ANSWER_TIMEOUT)[0]:
        raise TimeoutError("the cores do not answer")
    return float(program.stdout.readline())


def _ask(shared: mmap.mmap) -> float:
    """The mean of each round's turns, of which the least is the answer."""
    means = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for turn in range(TURNS_A_ROUND):
            shared[QUESTION_AT] = turn % 2 + 1
            _await(shared, ANSWER_AT, turn % 2 + 1)
        means.append((time.perf_counter() - begun) / TURNS_A_ROUND)
    return min(means)


def _answer(shared: mmap.mmap) -> None:
    """Gives each byte of a look back."""
    for turn in range(TURNS_A_ROUND * ROUNDS):
        _await(shared, QUESTION_AT, turn % 2 + 1)
        shared[ANSWER_AT] = turn % 2 + 1


def _await(shared: mmap.mmap, place: int, byte: int) -> None:
    for _ in range(SPINS):
        if shared[place] == byte:
            return
    # Nothing is left that spins, whatever became of the other side.
    raise TimeoutError("the other core does not answer")


def main(first: int, last: int) -> None:
    """Prints the round trip between two cores in seconds for each line of its input.

    Raises TimeoutError where one of them does not answer.
    """
    shared = mmap.mmap(-1, mmap.PAGESIZE)
    wakes, rings = os.pipe()
    if os.fork():
        os.close(wakes)
        try:
            os.sched_setaffinity(0, {first})
            for _ in sys.stdin.buffer:
                shared[QUESTION_AT] = shared[ANSWER_AT] = 0
                os.write(rings, LOOK_AGAIN)
                print(_ask(shared), flush=True)
        finally:
            os.close(rings)
            os.wait()
    else:
        os.close(rings)
        os.sched_setaffinity(0, {last})
        while os.read(wakes, len(LOOK_AGAIN)):
            _answer(shared)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
