"""What the command line leaves of a plan: the values of some axes that match shell patterns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from tunbench.plan.axes.reader import AxisValue
from tunbench.plan.axes.stack import compared
from tunbench.plan.cut import regions
from tunbench.plan.model import Plan
from tunbench.plan.toml.bounds import MAX_CUT_TABLES, MAX_PATTERN_CHARACTERS
from tunbench.plan.toml.mistakes import quoted
from tunbench.runner.declare.options import MAX_LISTED

AXES = ("stack", "workload", "profile")
"""The axes that have an option of the command line: --stack, --workload and --profile."""

Globs = Mapping[str, Sequence[str]]
"""Shell patterns by axis: what matches one of them is left."""


class NothingMatches(ValueError):
    """Nothing is left of a plan; the message names the option, and what there is."""


def globs_of(overrides: Mapping[str, Any]) -> Globs:
    """The patterns among what the command line overrides. Raises NothingMatches where one is none."""
    found = {axis: overrides[axis] for axis in AXES if overrides.get(axis)}
    for axis, globs in found.items():
        if len(globs) > MAX_CUT_TABLES:
            raise NothingMatches(f"--{axis}: {len(globs)} patterns are too many: at most {MAX_CUT_TABLES} are allowed")
        if any(len(one) > MAX_PATTERN_CHARACTERS for one in globs):
            raise NothingMatches(
                f"--{axis}: a pattern has at most {MAX_PATTERN_CHARACTERS} characters: let * stand for some"
            )
    return found


def narrowed(plan: Plan, globs: Globs) -> Plan:
    """The plan with the values that match alone. Raises NothingMatches.

    Shards of a plan with fewer stacks or profiles are those of the whole; with fewer workloads they are others, since
    all workloads of a shard share it.
    """
    for axis, patterns in globs.items():
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in plan.axes[axis]):
                raise NothingMatches(
                    f"--{axis}: {quoted(pattern)} matches no {axis} of {plan.name}; it has {_listed(plan.axes[axis])}"
                )
    values = {
        axis: [one for one in there if axis not in globs or any(fnmatchcase(one.name, each) for each in globs[axis])]
        for axis, there in plan.values.items()
    }
    values["stack"] = _with_baselines(plan, values["stack"])
    left = replace(plan, values=values)
    if not any(regions(left.axes, left.include, left.exclude)):
        options = ", ".join(f"--{axis}" for axis in globs)
        raise NothingMatches(
            f"{options}: nothing of {plan.name} matches all of them: what it includes and excludes takes that away"
        )
    return left


def _with_baselines(plan: Plan, stacks: Sequence[Any]) -> list[AxisValue]:
    """The stacks, and those bare ones of the plan that they are compared with where `none` is left."""
    names = {one.name for one in compared(stacks)}
    return [one for one in plan.values["stack"] if one.name in names]


def _listed(names: Sequence[str]) -> str:
    more = f", and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
    return ", ".join(names[:MAX_LISTED]) + more
