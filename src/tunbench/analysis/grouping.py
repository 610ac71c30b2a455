"""The clusters of systems that a text publishes beside those that a run's distributions make."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from tunbench.analysis.clusters import Cluster, clusters, rand_index
from tunbench.analysis.findings import Findings
from tunbench.analysis.lookup import Measured
from tunbench.plan.cell import Cell
from tunbench.plan.cut import AXES
from tunbench.plan.grid import NoCell, resolve
from tunbench.plan.study import Clustering, Study


class Grouped(NamedTuple):
    """A published clustering and the measured one; `rand` is their adjusted Rand index over `n` systems of both.

    The members of measured clusters have their published names. `silhouettes` are those of each number of clusters that
    was tried. `why` says why there are no measured ones, or no index.
    """

    name: str
    published: Mapping[str, Sequence[str]]
    measured: tuple[Cluster, ...]
    silhouettes: Mapping[int, float]
    n: int
    rand: float | None
    why: str


def grouped(study: Study, findings: Findings, run: Measured) -> list[Grouped]:
    """The clusterings that a study publishes, each beside that of the run."""
    return [_grouped(one, study.systems, findings, run) for one in study.clustering]


def _grouped(clustering: Clustering, systems: Mapping[str, str], findings: Findings, run: Measured) -> Grouped:
    cells = {name: {**clustering.cell, "stack": stack} for name, stack in systems.items()}
    values = {name: times for name, cell in cells.items() if (times := _values(cell, findings, run))}
    of_system = {system: cluster for cluster, _, system in clustering.members}
    found = clusters(values)
    n = len(of_system.keys() & found.membership.keys())
    rand = rand_index(of_system, found.membership)
    why = found.reason or ("" if rand is not None else f"{n} of these systems are in a published cluster: it needs 2")
    return Grouped(clustering.name, clustering.clusters, found.clusters, found.silhouettes, n, rand, why)


def _values(cell: Cell, findings: Findings, run: Measured) -> list[float]:
    """The raw values of a cell; none where it was not measured."""
    try:
        whole = resolve(cell, run.grid)
    except NoCell:
        return []
    mine = pl.all_horizontal(pl.col(axis) == whole[axis] for axis in (*AXES, "metric"))
    return findings.samples.filter(mine & pl.col("at").is_not_null())["value"].to_list()
