"""Expands a plan to its shards, in order, and estimates how long they take."""

import heapq
from collections.abc import Iterable, Sequence

from tunbench.plan.model import Plan
from tunbench.plan.shard import Shard, needed_underlay, seed_of_repeat
from tunbench.plan.stack import meaning_of_stack
from tunbench.runner import asked

BARE = "none"
BARE_ON = {"ip6": "none:underlay=ip6", "ethernet": "none:underlay=ethernet"}
"""The bare underlay of the kinds that are not the usual one."""

BRING_UP = 7.5
"""Seconds of wall clock from a VM's start to its first trial, and back to nothing."""

BUSY = 4.0
"""Seconds of wall clock that one virtual second of a test takes: 2 where losses hold it back, 5.5 at full load."""

REQUEST = 0.003
"""Seconds of wall clock that one request takes whose waiting is skipped, such as an echo of ping."""


def expand(plan: Plan) -> list[Shard]:
    """The shards of a plan: for each repeat (counted from 1), each profile, each stack; all workloads share a shard."""
    return [
        Shard(
            stack=stack,
            profile=profile,
            workloads=tuple(plan.workloads),
            repeat=repeat,
            seed=seed_of_repeat(plan.seed, repeat),
            topology=plan.topology,
            tuning=plan.tuning,
            machine=plan.machine,
        )
        for repeat in range(1, plan.repeats + 1)
        for profile in plan.profiles
        for stack in compared(plan.stacks)
    ]


def compared(stacks: Sequence[str]) -> list[str]:
    """The stacks, and `none` on each kind of underlay that they need, if it is among them: ratios are within a kind."""
    listed = {meaning_of_stack(stack) for stack in stacks}
    if meaning_of_stack(BARE) not in listed:
        return list(stacks)
    needed = {needed_underlay(stack) for stack in stacks}
    added = [bare for kind, bare in BARE_ON.items() if kind in needed and meaning_of_stack(bare) not in listed]
    return [*stacks, *added]


def trials(shards: Iterable[Shard]) -> int:
    """How many trials the shards have."""
    return sum(len(shard.workloads) for shard in shards)


def estimate(shards: Sequence[Shard], workers: int, clock: str = "virtual") -> float:
    """Seconds of wall clock until `workers` have executed the shards, each taking the next as soon as it is idle."""
    free_at = [0.0] * max(1, workers)
    for shard in shards:
        heapq.heapreplace(free_at, free_at[0] + shard_seconds(shard, clock))
    return max(free_at)


def shard_seconds(shard: Shard, clock: str = "virtual") -> float:
    """Seconds of wall clock of one shard: BRING_UP and what its workloads take."""
    return BRING_UP + sum(workload_seconds(workload, clock) for workload in shard.workloads)


def workload_seconds(workload: str, clock: str = "virtual") -> float:
    """Seconds of wall clock of one trial.

    On the real clock they are what the workload declares. On the virtual clock waiting is skipped: a workload that
    counts its requests costs REQUEST each, and one that does not keeps the processor busy, BUSY a second.
    """
    what = asked.read(workload)
    module, options = what.module, what.options
    if clock != "virtual":
        return float(module.seconds(options))
    if "count" in options:
        return REQUEST * float(options["count"])
    return BUSY * float(module.seconds(options))
