"""How fast this machine is at the moment, against the one that the estimates of virtual time were read off."""

import functools
import hashlib
import json
import os
import platform
import time
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from statistics import median

from tunbench.plan.cache_folder import cache
from tunbench.plan.estimate import duration
from tunbench.plan.shard import Shard

TEXT = "".join(hashlib.sha256(number.to_bytes(2)).hexdigest() for number in range(8192)).encode()
"""What is compressed, as work for a processor: 512 KiB in which repetitions are looked for."""

PIECES = 15
"""How often it is compressed on each core; a single piece says less than their median."""

REFERENCE = 0.014
"""Seconds that it takes where the constants of wall_clock.py hold: fitted to six runs of two small plans."""


NAME, KEPT_SECONDS = "pace.json", 600.0
"""The file of the cache that says how fast this machine is, and for how long that is taken for true."""

MIN, MAX = 1e-3, 1e3
"""A pace is between these."""


def estimate(shards: Sequence[Shard], workers: int, clock: str = "virtual") -> float:
    """Seconds of wall clock until `workers` have executed the shards on this machine, as fast as it is now.

    What takes real time takes no longer on a slow machine.
    """
    return duration.estimate(shards, workers, clock) * (now(workers) if clock == "virtual" else 1.0)


@functools.cache
def now(workers: int) -> float:
    """How many times longer this machine takes, with so many cores at work.

    It is measured once in KEPT_SECONDS, so that commands agree with each other meanwhile.
    """
    threads = min(workers, os.cpu_count() or 1)
    key = f"{platform.node()} {threads}"
    known = _kept()
    at, pace = known.get(key, (0.0, 0.0))
    if not 0 <= time.time() - at < KEPT_SECONDS:
        pace = measured(workers)
        _keep({**known, key: (time.time(), pace)})
    return pace


def measured(workers: int) -> float:
    """The same, measured at this moment."""
    threads = min(workers, os.cpu_count() or 1)
    with ThreadPoolExecutor(threads) as pool:
        # zlib lets the others run meanwhile.
        seconds = [second for of_one in pool.map(_pieces, range(threads)) for second in of_one]
    return median(seconds) / REFERENCE


def _kept() -> dict[str, tuple[float, float]]:
    """What was measured of machines: when, and their pace. Of what is no such file nothing is taken."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        found = json.loads((cache() / NAME).read_text())
        return {key: (float(at), float(pace)) for key, (at, pace) in found.items() if MIN < float(pace) < MAX}
    return {}


def _keep(found: Mapping[str, tuple[float, float]]) -> None:
    """Keeps it, where it can be kept."""
    with suppress(OSError):
        cache().mkdir(parents=True, exist_ok=True)
        new = cache() / f".{NAME}-{os.getpid()}"
        new.write_text(json.dumps(found))
        new.replace(cache() / NAME)


def _pieces(_: int) -> list[float]:
    """Seconds that each of the pieces takes one core."""
    return [_piece() for _ in range(PIECES)]


def _piece() -> float:
    began = time.perf_counter()
    zlib.compress(TEXT, 9)
    return time.perf_counter() - began
