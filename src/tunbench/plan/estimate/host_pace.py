"""How fast this machine is at the moment, against the one that the estimates of virtual time were read off."""

import hashlib
import os
import time
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from statistics import median

from tunbench.plan.estimate import duration
from tunbench.plan.shard import Shard

TEXT = "".join(hashlib.sha256(number.to_bytes(2)).hexdigest() for number in range(8192)).encode()
"""What is compressed, as work for a processor: 512 KiB in which repetitions are looked for."""

PIECES = 15
"""How often it is compressed on each core; a single piece says less than their median."""

REFERENCE = 0.014
"""Seconds that it takes where the constants of wall_clock.py hold: fitted to six runs of two small plans."""


def estimate(shards: Sequence[Shard], workers: int, clock: str = "virtual") -> float:
    """Seconds of wall clock until `workers` have executed the shards on this machine, as fast as it is now.

    What takes real time takes no longer on a slow machine.
    """
    return duration.estimate(shards, workers, clock) * (now(workers) if clock == "virtual" else 1.0)


@cache
def now(workers: int) -> float:
    """How many times longer this machine takes at the moment, with so many cores at work."""
    threads = min(workers, os.cpu_count() or 1)
    with ThreadPoolExecutor(threads) as pool:
        # zlib lets the others run meanwhile.
        seconds = [second for of_one in pool.map(_pieces, range(threads)) for second in of_one]
    return median(seconds) / REFERENCE


def _pieces(_: int) -> list[float]:
    """Seconds that each of the pieces takes one core."""
    return [_piece() for _ in range(PIECES)]


def _piece() -> float:
    began = time.perf_counter()
    zlib.compress(TEXT, 9)
    return time.perf_counter() - began
