"""The clusters of systems that a text publishes beside those that a run's distributions make."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl

from tunbench.analysis.run_analysis import RunAnalysis
from tunbench.analysis.study.cell_lookup import MeasuredCells, TrialCounts
from tunbench.analysis.study.clusters import Cluster, clusters, rand_index
from tunbench.plan.study.cell import Cell
from tunbench.plan.study.grid import NoCell, resolve
from tunbench.plan.study.publication import Clustering, Study
from tunbench.runner.declare import axes


class ClusterAgreement(NamedTuple):
    """A published clustering and the measured one; `rand` is their adjusted Rand index over `n` systems of both.

    The members of measured clusters have their published names. `silhouettes` are those of each number of clusters that
    was tried. `why` says why there are no measured ones, or no index. `notes` say what stands behind a distribution
    besides one series of every trial.
    """

    name: str
    published: Mapping[str, Sequence[str]]
    measured: tuple[Cluster, ...]
    silhouettes: Mapping[int, float]
    n: int
    rand: float | None
    why: str
    notes: tuple[str, ...] = ()


class Series(NamedTuple):
    """The raw values of a cell, of how many pairs and nodes they are, and of how many trials."""

    values: list[float]
    places: int
    trials: TrialCounts


def cluster_agreements(study: Study, analysis: RunAnalysis, run: MeasuredCells) -> list[ClusterAgreement]:
    """The clusterings that a study publishes, each beside that of the run."""
    return [_cluster_agreement(one, study.systems, analysis, run) for one in study.clustering]


def _cluster_agreement(
    clustering: Clustering, systems: Mapping[str, str], analysis: RunAnalysis, run: MeasuredCells
) -> ClusterAgreement:
    cells = {name: {**clustering.cell, "stack": stack} for name, stack in systems.items()}
    series = {name: one for name, cell in cells.items() if (one := _series(cell, analysis, run))}
    found = clusters({name: one.values for name, one in series.items()})
    of_system = {system: cluster for cluster, _, system in clustering.members}
    n = len(of_system.keys() & found.membership.keys())
    rand = rand_index(of_system, found.membership)
    why = found.reason or ("" if rand is not None else f"{n} of these systems are in a published cluster: it needs 2")
    measured = (found.clusters, found.silhouettes, n, rand, why)
    return ClusterAgreement(clustering.name, clustering.clusters, *measured, _notes(series))


def _notes(series: Mapping[str, Series]) -> tuple[str, ...]:
    pooled = {name: one.places for name, one in series.items() if one.places > 1}
    most = max(pooled.values(), default=0)
    joined = [f"values of up to {most} pairs and nodes are put together ({', '.join(pooled)})"] if pooled else []
    return (*joined, *(f"{name}: {trials}" for name, one in series.items() if (trials := one.trials.in_words)))


def _series(cell: Cell, analysis: RunAnalysis, run: MeasuredCells) -> Series | None:
    """The raw values of a cell, of one pair and node where it names them; None where it was not measured."""
    try:
        whole = resolve(cell, run.grid)
    except NoCell:
        return None
    named = [name for name in ("pair", "node") if name in whole]
    mine = pl.all_horizontal(pl.col(axis) == whole[axis] for axis in (*axes.NAMES, "metric", *named))
    rows = analysis.samples.filter(mine & pl.col("at").is_not_null())
    trials = run.trials.get(tuple(whole[axis] for axis in axes.NAMES), TrialCounts())
    places = rows.select("pair", "node").n_unique()
    return Series(rows["value"].to_list(), places, trials) if len(rows) else None
