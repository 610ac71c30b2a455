"""How long shards take: each by what its stack and workloads declare, and all of them on some workers."""

import heapq
import os
from collections.abc import Sequence

from tunbench.plan.estimate import wall_clock
from tunbench.plan.shard import Shard, canonical
from tunbench.runner.handed_over import in_two_parts
from tunbench.runner.invocation import Invocation

MAX_WORKERS = 1000
"""Labs side by side: no machine has as many cores to spare."""


def default_workers(clock: str) -> int:
    """Labs side by side unless a person says otherwise: on the real clock they would disturb each other's numbers."""
    return os.cpu_count() or 1 if clock == "virtual" else 1


def estimate(shards: Sequence[Shard], workers: int, clock: str = "virtual") -> float:
    """Seconds of wall clock until `workers` have executed the shards, each taking the next as soon as it is idle."""
    # There are never more at work than there are shards.
    free_at = [0.0] * max(1, min(workers, len(shards)))
    up: set[str] = set()
    for shard, seconds in zip(shards, seconds_of_each(shards, clock), strict=True):
        spared = _spared(shard, up) if clock == "virtual" and shard.stack.saved_when_up else 0
        heapq.heapreplace(free_at, free_at[0] + seconds - spared)
    return max(free_at)


def seconds_of_each(shards: Sequence[Shard], clock: str = "virtual") -> list[float]:
    """Seconds of wall clock of each shard; all repeats of one take the same time."""
    known: dict[tuple[object, ...], float] = {}
    found = []
    for shard in shards:
        alike = (*(value.name for value in shard.values.values()), shard.workloads)
        if alike not in known:
            known[alike] = shard_seconds(shard, clock)
        found.append(known[alike])
    return found


def seconds_by_shard(shards: Sequence[Shard], clock: str = "virtual") -> dict[str, float]:
    """The same by the shards' names."""
    return dict(zip((shard.id for shard in shards), seconds_of_each(shards, clock), strict=True))


def _spared(shard: Shard, up: set[str]) -> float:
    """Seconds that a shard need not wait for its stack, which is among those that are `up` from now on."""
    first, _ = in_two_parts(shard.spec())
    known = len(up)
    up.add(canonical(first))
    begun = wall_clock.bring_up(shard.stack, (), len(shard.layout.topology.endpoints))
    return -wall_clock.SAVING_SECONDS if len(up) > known else begun - wall_clock.LOADING_SECONDS


def shard_seconds(shard: Shard, clock: str = "virtual") -> float:
    """Seconds of wall clock of one shard: what its stack takes to come up, and its workloads between their pairs.

    On the real clock a workload takes what it declares. On the virtual clock waiting is skipped: it takes as much for
    each second in which it keeps the processor busy as such a second takes.
    """
    asked = [workload.invocation for workload in shard.workloads]
    topology, machine, encrypted = shard.layout.topology, shard.machine, wall_clock.encrypts(shard.stack)
    busy_second = wall_clock.busy_second(shard.stack, aes="aes" not in machine.without)
    slowest = min([shard.link, *(one.link for one in shard.access.all)], key=wall_clock.rate_limit)

    def seconds(one: Invocation) -> float:
        if clock != "virtual":
            return one.seconds
        return busy_second * wall_clock.busy(one, machine.speed, shard.profile, encrypted, slowest)

    begun = wall_clock.bring_up(shard.stack, asked, len(topology.endpoints))
    return begun + sum(len(one.pairs(topology)) * seconds(one) for one in asked)
