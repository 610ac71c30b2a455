"""Clusters of systems by how their round-trip times are distributed, and their agreement with a published grouping."""

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy

FEWEST_FOR_CLUSTERS = 3
"""Systems from which on there are clusters: at least 2 of them, and at most one less than systems."""

MAX_SYSTEMS = 60
"""Systems up to which there are clusters: the time grows by the third power of their number, 240 take seconds."""

SAME = 1e-9
"""Mean silhouettes that differ by less count as equal."""


class Cluster(NamedTuple):
    """Systems with alike round-trip times; median, mean and standard deviation (n − 1) of all n of theirs, in s.

    The deviation of one alone is None.
    """

    members: tuple[str, ...]
    median: float
    mean: float
    deviation: float | None
    n: int


class Clustering(NamedTuple):
    """The clusters, those with the smallest median first, and the mean silhouette of each number of clusters tried.

    Where there are none, `reason` says why.
    """

    clusters: tuple[Cluster, ...]
    silhouettes: dict[int, float]
    reason: str

    @property
    def membership(self) -> dict[str, int]:
        """The number of the cluster of each system, from 0."""
        return {name: number for number, one in enumerate(self.clusters) for name in one.members}


def clusters(times: Mapping[str, Sequence[float]]) -> Clustering:
    """Clusters systems by their round-trip times in seconds, which must be positive.

    The distance of two systems is the 1-Wasserstein distance of the distributions of the logarithms of their times: the
    area between both distribution functions (Villani, Optimal Transport (2009), chapter 6; Vallender, Calculation of
    the Wasserstein Distance between Probability Distributions on the Line, Theory of Probability and its Applications
    18 (1974)). By the logarithm, it is the factor between both that counts and not the difference.

    Clusters are joined by the mean distance of their members (average linkage; Sokal and Michener, A Statistical Method
    for Evaluating Systematic Relationships, University of Kansas Science Bulletin 38 (1958)). Of 2 to n − 1 clusters,
    that number is taken whose mean silhouette is the largest, and the fewest of those that are equal (Rousseeuw,
    Silhouettes: a Graphical Aid to the Interpretation and Validation of Cluster Analysis, Journal of Computational and
    Applied Mathematics 20 (1987)). Nothing is random; the order of the systems does not matter.
    """
    names = sorted(name for name, values in times.items() if len(values))
    if len(names) < FEWEST_FOR_CLUSTERS:
        return Clustering(
            (), {}, f"{len(names)} systems have round-trip times: clusters need at least {FEWEST_FOR_CLUSTERS}"
        )
    if len(names) > MAX_SYSTEMS:
        return Clustering((), {}, f"{len(names)} systems have round-trip times: clusters have at most {MAX_SYSTEMS}")
    if any(value <= 0 for name in names for value in times[name]):
        return Clustering((), {}, "a round-trip time is not positive: it has no logarithm")
    distances = _distances([[math.log(value) for value in times[name]] for name in names])
    tree = scipy.cluster.hierarchy.linkage(scipy.spatial.distance.squareform(distances, checks=False), method="average")
    cuts = {
        k: [int(label) for label in scipy.cluster.hierarchy.cut_tree(tree, n_clusters=[k])[:, 0]]
        for k in range(2, len(names))
    }
    silhouettes = {k: silhouette(distances.tolist(), labels) for k, labels in cuts.items()}
    best = max(silhouettes.values())
    labels = cuts[min(k for k, value in silhouettes.items() if value >= best - SAME)]
    grouped = [[name for name, own in zip(names, labels, strict=True) if own == label] for label in set(labels)]
    found = sorted((_cluster(members, times) for members in grouped), key=lambda one: (one.median, one.members))
    return Clustering(tuple(found), silhouettes, "")


def silhouette(distances: Sequence[Sequence[float]], labels: Sequence[int]) -> float:
    """The mean silhouette of a partition, between −1 and 1, from the distances of each two items.

    That of an item is (b − a) ÷ max(a, b): a is its mean distance to the others of its cluster, b the smallest mean
    distance to those of another one; 0 where it is alone, or where both are 0. Source: Rousseeuw (1987), as above,
    section 2. Raises ValueError for fewer than two clusters.
    """
    if len(set(labels)) < 2:
        raise ValueError("a silhouette needs at least two clusters")
    return statistics.fmean(_silhouette(item, distances[item], labels) for item in range(len(labels)))


def rand_index(one: Mapping[str, object], other: Mapping[str, object]) -> float | None:
    """The adjusted Rand index of two groupings, over the systems that both have: 1 equal, about 0 by chance.

    (Σ C(nᵢⱼ, 2) − E) ÷ (½ (A + B) − E) with A = Σ C(aᵢ, 2), B = Σ C(bⱼ, 2), E = A B ÷ C(n, 2), where nᵢⱼ systems are in
    group i of one and j of the other, which have aᵢ and bⱼ. Source: Hubert and Arabie, Comparing Partitions, Journal of
    Classification 2 (1985), equation 5. Two groupings that are both a single group, or all alone, are equal: 1. None
    where fewer than two systems are common.
    """
    common = sorted(one.keys() & other.keys())
    if len(common) < 2:
        return None
    both = _pairs(Counter((one[name], other[name]) for name in common))
    first, second = (_pairs(Counter(side[name] for name in common)) for side in (one, other))
    expected = first * second / math.comb(len(common), 2)
    most = (first + second) / 2
    return 1.0 if most == expected else (both - expected) / (most - expected)


def _pairs(counts: Counter[Any]) -> int:
    return sum(math.comb(count, 2) for count in counts.values())


def _distances(logs: Sequence[Sequence[float]]) -> Any:
    found = np.zeros((len(logs), len(logs)))
    for i, one in enumerate(logs):
        for j in range(i):
            found[i, j] = found[j, i] = scipy.stats.wasserstein_distance(one, logs[j])
    return found


def _silhouette(item: int, distances: Sequence[float], labels: Sequence[int]) -> float:
    near: dict[int, list[float]] = {}
    for place, label in enumerate(labels):
        if place != item:
            near.setdefault(label, []).append(distances[place])
    if labels[item] not in near:
        return 0.0
    within = statistics.fmean(near[labels[item]])
    between = min(statistics.fmean(values) for label, values in near.items() if label != labels[item])
    return (between - within) / max(within, between) if max(within, between) else 0.0


def _cluster(members: Sequence[str], times: Mapping[str, Sequence[float]]) -> Cluster:
    values = [float(value) for name in members for value in times[name]]
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return Cluster(tuple(members), statistics.median(values), statistics.fmean(values), deviation, len(values))
