"""The clusters of systems that a text publishes beside those that a run's distributions make."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from tunbench.analysis.clusters import clusters, rand_index
from tunbench.analysis.findings import Findings
from tunbench.analysis.lookup import Measured
from tunbench.plan.cut import AXES
from tunbench.plan.grid import NoCell, resolve
from tunbench.plan.study import Study


class Group(NamedTuple):
    """A measured cluster: its systems by their published names, and the median of all their values, in SI units."""

    systems: tuple[str, ...]
    median: float


class Grouped(NamedTuple):
    """Published clusters and measured ones; `rand` is their adjusted Rand index over `n` systems that both have.

    `why` says why there are no measured ones, or no index.
    """

    published: Mapping[str, Sequence[str]]
    measured: tuple[Group, ...]
    n: int
    rand: float | None
    why: str


def grouped(study: Study, findings: Findings, run: Measured) -> Grouped | None:
    """The clusters of a study's systems; None where it publishes none."""
    if not study.clustering:
        return None
    values = {name: times for name, stack in study.systems.items() if (times := _values(study, stack, findings, run))}
    published = {one.name: one.systems for one in study.cluster}
    of_system = {system: name for name, systems in published.items() for system in systems}
    found = clusters(values)
    n = len(of_system.keys() & found.membership.keys())
    rand = rand_index(of_system, found.membership) if n else None
    groups = tuple(Group(one.members, one.median) for one in found.clusters)
    return Grouped(published, groups, n, rand, found.reason or ("" if n else "no published cluster has these systems"))


def _values(study: Study, stack: str, findings: Findings, run: Measured) -> list[float]:
    """The raw values of a system's cell; none where it was not measured."""
    assert study.clustering
    try:
        cell = resolve({**study.clustering.cell, "stack": stack}, run.grid)
    except NoCell:
        return []
    mine = pl.all_horizontal(pl.col(axis) == cell[axis] for axis in (*AXES, "metric"))
    return findings.samples.filter(mine & pl.col("at").is_not_null())["value"].to_list()
