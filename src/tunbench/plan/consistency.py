"""Whether the keys of a plan, each of which was read, fit together."""

import math
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from tunbench.plan import cut
from tunbench.plan.axes import access_misfit
from tunbench.plan.axes.topology import misfit
from tunbench.plan.model import Plan
from tunbench.plan.toml.bounds import MAX_SHARDS, MAX_TRIALS
from tunbench.plan.toml.mistakes import MistakeAt, or_exclude


def check(plan: Plan) -> None:
    """Raises ValueError, and MistakeAt where one key is wrong."""
    _check_machines(plan)
    _check_size(plan)
    cut.check(plan.axes, plan.include, plan.exclude)
    _check_topologies(plan)
    _check_workloads(plan)
    _check_accesses(plan)


def _check_machines(plan: Plan) -> None:
    machines: Any = plan.values["machine"]
    slower = [one.name for one in machines if not one.full]
    if slower and plan.lab.clock != "virtual":
        raise MistakeAt(
            f'"{slower[0]}" cannot be had on the {plan.lab.clock} clock, because the model machine belongs to the '
            "virtual clock of the vm lab: run the plan there, or take the machine away",
            "machine",
        )


def _check_size(plan: Plan) -> None:
    repeats = plan.until.max if plan.until else plan.repeats
    shards = repeats * math.prod(len(values) for axis, values in plan.values.items() if axis != "workload")
    if shards > MAX_SHARDS:
        raise ValueError(
            f"the plan has {shards} shards before any are cut, and at most {MAX_SHARDS} are allowed: "
            f"sweep over less, or lower {'max of until' if plan.until else 'repeats'}"
        )
    trials = shards * len(plan.workloads)
    if trials > MAX_TRIALS:
        raise ValueError(
            f"the plan has {trials} trials before any are cut, and at most {MAX_TRIALS} are allowed: sweep over less"
        )


def _check_topologies(plan: Plan) -> None:
    """Raises MistakeAt where a stack cannot join the endpoints of a topology, and no cut takes that away."""
    regions = cut.regions(plan.axes, plan.include, plan.exclude)
    left = [dict(zip(plan.values, region, strict=True)) for region in regions]
    layouts: Any = plan.values["topology"]
    stacks: Any = plan.values["stack"]
    for layout, stack in product(layouts, stacks):
        if (reason := misfit(stack, layout)) and _any_has(left, topology=layout.name, stack=stack.name):
            mend = f"take one of them away{or_exclude(topology=layout.name, stack=stack.name)}"
            raise MistakeAt(f"{reason}: {mend}", "stacks")


def _check_workloads(plan: Plan) -> None:
    """Raises MistakeAt where a workload cannot be asked of a stack, and no cut takes that away."""
    left: list[Mapping[str, Mapping[str, None]]] = []
    stacks: Any = plan.values["stack"]
    for workload, stack in product(plan.workloads, stacks):
        if not (reason := workload.invocation.misfit(stack.abouts)):
            continue
        left = left or [
            dict(zip(plan.axes, one, strict=True)) for one in cut.regions(plan.axes, plan.include, plan.exclude)
        ]
        if _any_has(left, workload=workload.name, stack=stack.name):
            mend = f'exclude = [{{ stack = "{stack.name}", workload = "{workload.name}" }}]'
            raise MistakeAt(f"{workload.name} cannot be asked of {stack.name}: {reason}: {mend}", "workloads")


def _check_accesses(plan: Plan) -> None:
    """Raises MistakeAt where gateways cannot stand before the endpoints of a stack, and no cut takes that away."""
    values: Any = plan.values["access"]
    accesses = [one for one in values if one.all]
    layouts: Any = plan.values["topology"]
    stacks: Any = plan.values["stack"]
    if not accesses:
        return
    left = [dict(zip(plan.values, one, strict=True)) for one in cut.regions(plan.axes, plan.include, plan.exclude)]
    for one, layout, stack in product(accesses, layouts, stacks):
        reason = access_misfit.unknown_node(one, layout) or access_misfit.misfit(one, stack, layout)
        if reason and _any_has(left, access=one.name, topology=layout.name, stack=stack.name):
            raise MistakeAt(reason, "access")
    for one in accesses:
        there = [stack for stack in stacks if _any_has(left, access=one.name, stack=stack.name)]
        if there and (role := access_misfit.lacking_role(one, there)):
            raise MistakeAt(f'no stack beside "{one.name}" has a node "{role}": take "{role}" away', "access")
    links: Any = plan.values["link"]
    for one, link in product(accesses, links):
        if (reason := access_misfit.bundles(one, link)) and _any_has(left, access=one.name, link=link.name):
            raise MistakeAt(reason, "access")


def _any_has(regions: Sequence[Mapping[str, Mapping[str, None]]], **names: str) -> bool:
    """Whether a cell with these values of some axes is left."""
    return any(all(name in region[axis] for axis, name in names.items()) for region in regions)
