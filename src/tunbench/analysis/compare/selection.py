"""Which rows of two runs are compared: metrics by name, stacks and workloads by pattern."""

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from tunbench.analysis.cells import CENTRAL, METRIC
from tunbench.analysis.metrics import headlines, spelled
from tunbench.analysis.samples import CELL
from tunbench.runner.declare.options import nearest

EVERY = "all"
"""Stands for every metric."""

KEY = (*(name for name in CELL if name not in ("lab", "clock")), *METRIC)
"""The columns by which the rows of two runs are put beside each other."""

Key = tuple[str, ...]
Fields = tuple[Key, dict[str, str]]
"""A key, and its values by their columns."""


class CompareError(Exception):
    """Two runs cannot be compared as asked for; the message says why, and the mend."""


class Selection(NamedTuple):
    """Which rows are compared, and so share the correction: metrics by name, stacks and workloads by pattern.

    Without metrics, those that sum up each workload (see `headlines`).
    """

    metrics: tuple[str, ...] = ()
    stack: str = "*"
    workload: str = "*"


def chosen(keys: Iterable[Key], choice: Selection) -> list[Key]:
    """The keys that were asked for. Raises CompareError where one of the metrics or patterns, or all, is not there."""
    fields = [(key, dict(zip(KEY, key, strict=True))) for key in keys]
    if not fields:
        raise CompareError("neither run has a trial to compare: name two that came to some")
    fields = _matching(fields, "stack", choice.stack, "either run")
    some = "either run" if choice.stack == "*" else f'the stacks "{choice.stack}" of either run'
    fields = _matching(fields, "workload", choice.workload, some)
    there = sorted({spelled(one["metric"], one["statistic"]) for _, one in fields})
    for metric in choice.metrics:
        if metric not in (*there, EVERY):
            raise CompareError(
                f'neither run has the metric "{metric}"{nearest(metric, there)}; {EVERY} takes every one'
            )
    return [key for key, one in fields if _wanted(one, choice.metrics)]


def _matching(fields: list[Fields], axis: str, pattern: str, of: str) -> list[Fields]:
    """The keys whose value of an axis the pattern matches. Raises CompareError where there is none."""
    if found := [(key, one) for key, one in fields if fnmatchcase(one[axis], pattern)]:
        return found
    there = list(dict.fromkeys(one[axis] for _, one in fields))
    raise CompareError(f'--{axis}: "{pattern}" matches no {axis} of {of}{nearest(pattern, there)}')


def _wanted(one: Mapping[str, str], metrics: Sequence[str]) -> bool:
    if EVERY in metrics:
        return True
    if metrics:
        return spelled(one["metric"], one["statistic"]) in metrics
    # Of a workload that this version does not know, nothing tells what sums it up.
    return one["statistic"] in CENTRAL and one["metric"] in (headlines(one["workload"]) or (one["metric"],))
