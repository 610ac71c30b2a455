"""How what is measured grows with the number of nodes: the exponent of a power, with its interval.

Where a value is c · nᵏ, its logarithm over that of n is a straight line, whose slope is k: 0 is no growth, 1 in
proportion, 2 as pairs of nodes do.
"""

import math
import statistics
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import polars as pl
import scipy

from tunbench.analysis.cells import CENTRAL
from tunbench.analysis.statistics import CONFIDENCE
from tunbench.runner.declare import axes, topology

FEWEST_SIZES = 3
"""Numbers of nodes from which on there is an exponent: two points are on a line whatever they are."""

GROWING = ("connect", "idle-rate", "idle-cpu", "memory", "join", "join-bytes", "join-cpu")
"""The metrics of which it is asked, in the order in which they are shown."""

FIRST_NODE = "a"
"""The node whose value counts where each has its own: all topologies have it."""


class Growth(NamedTuple):
    """The exponent of a stack's metric with its interval, and the medians by the number of nodes.

    `condition` is what else the cells have in common. Where there is no exponent, `why` says so.
    """

    stack: str
    condition: str
    workload: str
    metric: str
    unit: str
    sizes: Mapping[int, float]
    exponent: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""


def growths(values: pl.DataFrame) -> list[Growth]:
    """The growth of each of GROWING, of each stack and kind of topology of which several sizes were measured.

    `values` are those of `RunAnalysis.values`.
    """
    kept = values.filter(
        pl.col("metric").is_in(list(GROWING)),
        pl.col("statistic").is_in(list(CENTRAL)),
        pl.col("node") == FIRST_NODE,
    )
    groups: dict[tuple[str, ...], list[tuple[int, float]]] = {}
    for row in kept.iter_rows(named=True):
        key = (row["stack"], _rest(row), row["workload"], row["metric"], row["unit"])
        groups.setdefault(key, []).append((nodes_of(row["topology"]), row["value"]))
    found = [_growth(key, points) for key, points in groups.items()]
    return sorted((one for one in found if len(one.sizes) > 1), key=lambda one: GROWING.index(one.metric))


def nodes_of(spelling: str) -> int:
    """How many endpoints a topology has."""
    return len(topology.read(spelling).endpoints)


def _rest(row: Mapping[str, Any]) -> str:
    """What a cell has besides its number of nodes."""
    kind = str(row["topology"]).partition(":")[0]
    others = (axis for axis in axes.CONDITION if axis != "topology" and axis in row)
    return ", ".join((kind, *(str(row[axis]) for axis in others)))


def _growth(key: tuple[str, ...], points: Iterable[tuple[int, float]]) -> Growth:
    sizes: dict[int, list[float]] = {}
    for n, value in points:
        sizes.setdefault(n, []).append(value)
    medians = {n: statistics.median(some) for n, some in sorted(sizes.items())}
    stack, condition, workload, metric, unit = key
    found = Growth(stack, condition, workload, metric, unit, medians)
    if len(sizes) < FEWEST_SIZES:
        return found._replace(why=f"{len(sizes)} sizes: an exponent needs {FEWEST_SIZES}")
    every = [(math.log(n), math.log(value)) for n, some in sizes.items() for value in some if value > 0]
    if len(every) < sum(map(len, sizes.values())):
        return found._replace(why="some values are 0, which has no logarithm")
    if len({y for _, y in every}) == 1:
        # Values that are all alike do not grow, and have no order from which an interval follows.
        return found._replace(exponent=0.0, low=0.0, high=0.0)
    # The median of slopes is Theil's (1950), its interval Sen's (1968): nothing is assumed of how values scatter.
    slope = scipy.stats.theilslopes([y for _, y in every], [x for x, _ in every], CONFIDENCE)
    return found._replace(exponent=float(slope[0]), low=float(slope[2]), high=float(slope[3]))
