"""A publication that a plan reproduces: its systems, and what of its tables and clusters has a counterpart here."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tunbench.plan.study.calibration import (
    CALIBRATION_EXAMPLE,
    Calibration,
    check_calibration,
    read_calibration,
)
from tunbench.plan.study.cell import Cell, read_cell, read_stack_name
from tunbench.plan.study.published_table import (
    SYSTEMS_EXAMPLE,
    TABLE_EXAMPLE,
    PublishedTable,
    read_published_table,
)
from tunbench.plan.toml.mistakes import MistakeAt, quoted
from tunbench.plan.toml.tables import Key, alone, read_list, read_names, read_table, unknown_in
from tunbench.plan.toml.values import matching, read_text
from tunbench.runner.declare.options import nearest

REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\.csv")
"""The name of a file with published numbers; it leads to no other folder."""


@dataclass(frozen=True)
class Clustering:
    """Published clusters by the published names of their systems, and the cell whose distributions make them here."""

    name: str
    cell: Cell
    clusters: Mapping[str, Sequence[str]]

    @property
    def members(self) -> list[tuple[str, int, str]]:
        """Each system with its cluster, and its place in it."""
        return [(cluster, place, name) for cluster, some in self.clusters.items() for place, name in enumerate(some)]


@dataclass(frozen=True)
class Study:
    """A publication, and what of it has a counterpart here. Stacks are in their canonical spelling."""

    title: str
    authors: str
    year: int
    source: str
    reference: str
    systems: Mapping[str, str]
    missing: Mapping[str, str]
    table: Sequence[PublishedTable]
    clustering: Sequence[Clustering]
    calibration: Calibration | None

    def systems_of(self, table: PublishedTable) -> Mapping[str, str]:
        """The published names of a table's systems, with their stacks."""
        return self.systems if table.systems is None else table.systems


def read_study(value: object) -> Study:
    """The study of a table. Raises ValueError, MistakeAt and Mistakes."""
    study = Study(**read_table(value, STUDY_KEYS, STUDY_EXAMPLE, unknown_in("study", STUDY_KEYS)))
    for number, one in enumerate(study.clustering):
        for cluster, place, name in one.members:
            if name not in study.systems and name not in study.missing:
                known = nearest(name, [*study.systems, *study.missing])
                raise MistakeAt(f'unknown system "{name}"{known}', "clustering", number, "clusters", cluster, place)
    check_names("clustering", [one.name for one in study.clustering], "clustering")
    if study.calibration:
        try:
            check_calibration(study.calibration, study.table, study.systems)
        except MistakeAt as error:
            raise MistakeAt(str(error), "calibration", *error.at) from None
    return study


def read_clustering(value: object) -> Clustering:
    """Published clusters. Raises ValueError, MistakeAt and Mistakes."""
    unknown = unknown_in("study.clustering", CLUSTERING_KEYS)
    clustering = Clustering(**read_table(value, CLUSTERING_KEYS, CLUSTERING_EXAMPLE, unknown))
    if "stack" in clustering.cell:
        raise MistakeAt("a clustering's stacks are the study's systems: take it away", "cell", "stack")
    if "verdict" in clustering.cell:
        raise MistakeAt("a clustering is of series, and claims have verdicts: take it away", "cell", "verdict")
    cluster_of: dict[str, str] = {}
    for cluster, place, name in clustering.members:
        if name in cluster_of:
            sentence = f'"{name}" stands in the cluster "{cluster_of[name]}" already: take it away from one of them'
            raise MistakeAt(sentence, "clusters", cluster, place)
        cluster_of[name] = cluster
    return clustering


def check_names(what: str, names: Sequence[str], *at: str) -> None:
    """Raises MistakeAt where two of several have one name."""
    for number, name in enumerate(names):
        if name in names[:number]:
            raise MistakeAt(f'another {what} is named "{name}": take another name', *at, number, "name")


def _read_year(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1900 <= value <= 2100:
        raise ValueError(f"{quoted(value)} is not a year: write for example {YEAR_EXAMPLE}")
    return value


def _read_members(value: object) -> list[str]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"{quoted(value)} is not a list of names: write for example {CLUSTER_EXAMPLE}")
    return read_list(value, read_text, CLUSTER_EXAMPLE)


YEAR_EXAMPLE = "year = 2016"
REFERENCE_EXAMPLE = 'reference = "openwrt-2016.csv"'
CLUSTER_EXAMPLE = '"in the kernel" = ["GRE", "VXLAN"]'
CLUSTERS_EXAMPLE = f"clusters = {{ {CLUSTER_EXAMPLE} }}"
STUDY_EXAMPLE = '[study] and below it title = "…"'
CLUSTERING_EXAMPLE = '[[study.clustering]] and below it name = "round trips"'

CLUSTERING_KEYS = {
    "name": Key('name = "round trips"', alone(read_text)),
    "cell": Key('cell = { metric = "rtt" }', alone(read_cell)),
    "clusters": Key(CLUSTERS_EXAMPLE, lambda value, _: read_names(value, _read_members, CLUSTERS_EXAMPLE)),
}

STUDY_KEYS = {
    "title": Key('title = "A Comparison of Tunnels"', alone(read_text)),
    "authors": Key('authors = "A. Author and B. Author"', alone(read_text)),
    "year": Key(YEAR_EXAMPLE, alone(_read_year)),
    "source": Key('source = "https://doi.org/…"', alone(read_text)),
    "reference": Key(
        REFERENCE_EXAMPLE,
        alone(matching(REFERENCE, f"not the name of a CSV file: write for example {REFERENCE_EXAMPLE}")),
    ),
    "systems": Key(SYSTEMS_EXAMPLE, lambda value, _: read_names(value, read_stack_name, SYSTEMS_EXAMPLE)),
    "missing": Key(
        '[study.missing] and below it "FreeS/WAN" = "not built any more"',
        lambda value, _: read_names(value, read_text, SYSTEMS_EXAMPLE, empty=True),
        dict,
    ),
    "table": Key(TABLE_EXAMPLE, lambda value, _: read_list(value, read_published_table, TABLE_EXAMPLE), list),
    "clustering": Key(CLUSTERING_EXAMPLE, lambda value, _: read_list(value, read_clustering, CLUSTERING_EXAMPLE), list),
    "calibration": Key(CALIBRATION_EXAMPLE, alone(read_calibration), lambda: None),
}
