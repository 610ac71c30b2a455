"""Expands a plan to its shards, in order."""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from itertools import product

from tunbench.plan.axes.workload import Workload
from tunbench.plan.cut import cutting
from tunbench.plan.model import Plan
from tunbench.plan.shard import Shard, canonical, seed_of_repeat
from tunbench.plan.until import BLOCK, blocks, fewest
from tunbench.runner.declare import axes


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
    """The shards of so many repeats: for each repeat (counted from 1), the product of the axes in their order.

    All workloads that `include` and `exclude` leave share a shard; one that is left without any is not there. What
    restarts the stack comes last, so that nothing else is measured after it.
    """
    of_shards = {axis: values for axis, values in plan.values.items() if axis in axes.SHARD}
    workloads = sorted(plan.workloads, key=restarts)
    probes = None if plan.probes is None else tuple(plan.probes)
    cut, kept = plan.include or plan.exclude, cutting(plan.axes, plan.include, plan.exclude)
    cells = []
    for chosen in product(*of_shards.values()):
        values = dict(zip(of_shards, chosen, strict=True))
        names = [(axis, one.name) for axis, one in values.items()]
        left = tuple(one for one in workloads if not cut or kept([*names, ("workload", one.name)]))
        if left:
            cells.append((values, left))
    return [
        Shard(values, left, repeat, seed_of_repeat(plan.seed, repeat), probes)
        for repeat in range(1, repeats + 1)
        for values, left in cells
    ]


def restarts(workload: Workload) -> bool:
    """Whether a workload takes the stack down and up again."""
    return workload.about.restarts


def trials(shards: Iterable[Shard]) -> int:
    """How many trials the shards have."""
    return sum(len(shard.workloads) for shard in shards)


def digest_of_shards(plan: Plan, shards: Iterable[Shard]) -> str:
    """SHA-256 over the shards that are asked for whatever they measure, and over what decides on others."""
    until = [canonical(plan.until._asdict())] if plan.until else []
    return hashlib.sha256(" ".join([*(shard.id for shard in shards), *until]).encode()).hexdigest()
