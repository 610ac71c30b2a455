"""Expands a plan to its shards, in order, and estimates how long they take."""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product

from tunbench.plan.axes import topology
from tunbench.plan.axes.stack import compared
from tunbench.plan.cut import cutting
from tunbench.plan.estimate import wall_clock
from tunbench.plan.model import Plan
from tunbench.plan.shard import Shard, seed_of_repeat
from tunbench.plan.until import BLOCK, blocks, fewest
from tunbench.runner import invocation
from tunbench.runner.declare import axes

MOST_WORKERS = 1000
"""Labs side by side at most: no machine has as many cores to spare."""


def expand(plan: Plan) -> list[Shard]:
    """The shards that a plan asks for whatever they measure; with `until` these are its first blocks."""
    return shards_of(plan, blocks(plan.repeats) if plan.until else plan.repeats)


def least(plan: Plan) -> list[Shard]:
    """The shards of a plan where all trials are well and every cell is narrow enough as soon as it can be."""
    return shards_of(plan, blocks(max(plan.repeats, fewest(plan.until.confidence)))) if plan.until else expand(plan)


def most(plan: Plan) -> list[Shard]:
    """The shards of a plan where no cell ever becomes narrow enough."""
    return shards_of(plan, plan.until.max) if plan.until else expand(plan)


def next_block(last: Shard, seed: int) -> list[Shard]:
    """The shards of the block behind the last shard of a group; `seed` is the plan's."""
    return [
        replace(last, repeat=repeat, seed=seed_of_repeat(seed, repeat))
        for repeat in range(last.repeat + 1, last.repeat + 1 + BLOCK)
    ]


def shards_of(plan: Plan, repeats: int) -> list[Shard]:
    """The shards of so many repeats: for each repeat (counted from 1), topology, tuning, machine, profile and stack.

    All workloads that `include` and `exclude` leave share a shard; one that is left without any is not there. What
    restarts the stack comes last, so that nothing else is measured after it.
    """
    values = (plan.topology, plan.tuning, plan.machine, plan.profiles, compared(plan.stacks))
    workloads = sorted(plan.workloads, key=restarts)
    probes = None if plan.probes is None else tuple(plan.probes)
    cut, kept = plan.include or plan.exclude, cutting(plan.axes, plan.include, plan.exclude)
    cells = []
    for shape, tuning, machine, profile, stack in product(*values):
        names = (shape, tuning.name, machine.name, profile.name, stack)
        left = tuple(one for one in workloads if not cut or kept(zip(axes.NAMES, (*names, one), strict=True)))
        if left:
            cells.append((shape, tuning, machine, profile, stack, left))
    return [
        Shard(stack, profile, left, repeat, seed_of_repeat(plan.seed, repeat), shape, tuning, machine, probes)
        for repeat in range(1, repeats + 1)
        for shape, tuning, machine, profile, stack, left in cells
    ]


def restarts(workload: str) -> bool:
    """Whether a workload takes the stack down and up again."""
    return bool(invocation.read(workload).module.ABOUT.restarts)


def trials(shards: Iterable[Shard]) -> int:
    """How many trials the shards have."""
    return sum(len(shard.workloads) for shard in shards)


def estimate(shards: Sequence[Shard], workers: int, clock: str = "virtual") -> float:
    """Seconds of wall clock until `workers` have executed the shards, each taking the next as soon as it is idle."""
    # There are never more at work than there are shards.
    free_at = [0.0] * max(1, min(workers, len(shards)))
    known: dict[tuple[object, ...], float] = {}
    for shard in shards:
        # All repeats of a shard take the same time.
        alike = (shard.stack, shard.profile.name, shard.topology, shard.machine.name, shard.workloads)
        if alike not in known:
            known[alike] = shard_seconds(shard, clock)
        heapq.heapreplace(free_at, free_at[0] + known[alike])
    return max(free_at)


def shard_seconds(shard: Shard, clock: str = "virtual") -> float:
    """Seconds of wall clock of one shard: what its stack takes to come up, and its workloads between their pairs.

    On the real clock a workload takes what it declares. On the virtual clock waiting is skipped: it takes BUSY for each
    second in which it keeps the processor busy.
    """
    shape, encrypted = topology.shape(shard.topology), wall_clock.encrypts(shard.stack)
    busy_second = wall_clock.busy_second(shard.stack, aes="aes" not in shard.machine.without)

    def seconds(workload: str) -> float:
        if clock != "virtual":
            return wall_clock.read(workload).seconds
        return busy_second * wall_clock.busy(workload, shard.machine.speed, shard.profile, encrypted)

    return wall_clock.bring_up(shard.stack, shard.workloads) + sum(
        len(wall_clock.read(workload).pairs(shape)) * seconds(workload) for workload in shard.workloads
    )
