"""Warnings that the repeats of a cell give: too few of them, two groups, or a trend."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tunbench.analysis.audit import bimodality, trend
from tunbench.analysis.audit.places import within_condition
from tunbench.analysis.cells import CENTRAL, METRIC, WHOLE
from tunbench.analysis.multiple_tests import holm
from tunbench.analysis.samples import CELL
from tunbench.analysis.statistics import FEWEST_FOR_INTERVAL
from tunbench.journal.record import Warned
from tunbench.plan.until import STOPPING_UNITS
from tunbench.runner import probe, registry
from tunbench.runner.declare import axes
from tunbench.runner.declare.metrics import BRING_UP
from tunbench.runner.declare.warnings import WarningKind

LEVEL = 0.05
"""The probability that any cell of a run is said to drift while none does."""

FEWEST_FOR_TREND = 8
"""Trials below which a trend is not looked for."""


class Series(NamedTuple):
    """Cells that have the same number of trials: CELL and METRIC, and a row of values each, in the order of repeats."""

    cells: pl.DataFrame
    values: NDArray[np.float64]

    def named(self, row: int) -> tuple[str, str]:
        """A cell in words, and its metric."""
        cell = self.cells.row(row, named=True)
        statistic = "" if cell["statistic"] == WHOLE else f" {cell['statistic']}"
        return ", ".join([cell["stack"], *within_condition(cell)]), f"{cell['metric']}{statistic} at {cell['node']}"


def examined(values: pl.DataFrame) -> Iterator[Series]:
    """The throughputs and times of workloads in `per_trial`'s values, a Series for each number of trials.

    Counts and losses take few values, and are no continuum. Of what is measured as a series the trial's median is
    taken. The time to come up and what probes measure are left out.
    """
    probes = list(probe.metrics(registry.probe_names()))
    counting = values.filter(
        pl.col("unit").is_in(STOPPING_UNITS)
        & pl.col("statistic").is_in(CENTRAL)
        & ~pl.col("metric").is_in(probes)
        & (pl.col("workload") != BRING_UP)
    )
    keys = [*CELL, *METRIC]
    grouped = counting.sort("repeat").group_by(keys, maintain_order=True).agg(pl.col("value")).sort(keys)
    for (size,), group in sorted(grouped.group_by(pl.col("value").list.len()), key=lambda one: str(one[0])):
        yield Series(
            group.drop("value"), np.array(group["value"].to_list(), dtype=float).reshape(len(group), int(size))
        )


def bimodal(values: pl.DataFrame) -> list[Warned]:
    """The cells whose trials fall into two groups: see `modes`."""
    found = []
    for series in examined(values):
        for row in np.flatnonzero(bimodality.bimodal(series.values)):
            where, metric = series.named(int(row))
            [apart] = bimodality.split(series.values[row : row + 1]).apart
            groups = f"{series.values.shape[1]} trials fall into two groups, {100 * apart:.0f} % of their mean apart"
            found.append(Warned(WarningKind.BIMODAL, where, f"{metric}: {groups}"))
    return found


def drift(values: pl.DataFrame) -> list[Warned]:
    """The cells that rise or fall from repeat to repeat, by Kendall's test with Holm's correction over all of them.

    Only of labs on the real clock: on the virtual one every repeat is a boot of its own that knows nothing of the ones
    before it, and a trend is a coincidence of seeds.
    """
    tested = [one for one in examined(values.filter(clock="real")) if one.values.shape[1] >= FEWEST_FOR_TREND]
    if not tested:
        return []
    rising = [trend.rises(one.values) for one in tested]
    p = [trend.p_values(rises, one.values.shape[1]) for one, rises in zip(tested, rising, strict=True)]
    corrected = np.split(
        np.array(holm(np.concatenate(p).tolist()), dtype=float), np.cumsum([len(one) for one in p])[:-1]
    )
    number = sum(len(one) for one in p)
    found = []
    for series, rises, own in zip(tested, rising, corrected, strict=True):
        for row in np.flatnonzero(own < LEVEL):
            where, metric = series.named(int(row))
            way = f"{'rises' if rises[row] > 0 else 'falls'} over {series.values.shape[1]} repeats"
            found.append(
                Warned(WarningKind.DRIFT, where, f"{metric} {way}: p = {own[row]:.2g}, corrected for {number} cells")
            )
    return found


def too_few_trials(cells: pl.DataFrame) -> list[Warned]:
    """One warning for each number of trials that is too small for an interval, saying how many cells have it."""
    counted = cells.group_by(axes.CELL).agg(pl.col("n").max())
    few = (
        counted.filter(pl.col("n") < FEWEST_FOR_INTERVAL)
        .group_by("n")
        .agg(pl.len().alias("cells"))
        .sort("cells", "n", descending=True)
    )
    rest = f"and {FEWEST_FOR_INTERVAL} are needed; the range is shown"
    return [
        Warned(WarningKind.TOO_FEW_TRIALS, f"{count} of {len(counted)} cells", f"{_trials(n)}, {rest}")
        for n, count in few.iter_rows()
    ]


def _trials(n: int) -> str:
    return "1 trial each" if n == 1 else f"{n} trials each"
