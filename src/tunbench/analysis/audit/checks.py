"""Warnings that follow from what was measured: each check is one function from tables to what it found."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tunbench.analysis.audit import bimodality, trend
from tunbench.analysis.cells import CENTRAL, METRIC, WHOLE
from tunbench.analysis.compare.two_samples import holm
from tunbench.analysis.frame import CELL
from tunbench.analysis.verdicts import BRING_UP
from tunbench.journal.record import Warned
from tunbench.plan.until import STOPPING_UNITS
from tunbench.runner import probe, registry
from tunbench.runner.declare import axes

BIMODAL = "bimodal"
DRIFT = "drift"
SATURATED = "saturated-machine"
COSTLY = "costly-probe"

LEVEL = 0.05
"""The probability that any cell of a run is said to drift while none does."""

FEWEST = 8
"""Trials below which a trend is not looked for."""

BUSY = 0.95
"""The part of its time that the machine is busy, beyond which it decides on a throughput."""

SHARE = 0.05
"""The part of the measured time that probes may take."""

COMPARED_WITHIN = (*axes.CONDITION, "workload")
"""What stacks are compared within."""

SHOWN = 3
"""Stacks that a warning names; of more, it says how many."""


class Series(NamedTuple):
    """Cells that have the same number of trials: CELL and METRIC, and a row of values each, in the order of repeats."""

    cells: pl.DataFrame
    values: NDArray[np.float64]

    def named(self, row: int) -> tuple[str, str]:
        """A cell in words, and its metric."""
        cell = self.cells.row(row, named=True)
        statistic = "" if cell["statistic"] == WHOLE else f" {cell['statistic']}"
        return ", ".join([cell["stack"], *_place(cell)]), f"{cell['metric']}{statistic} at {cell['node']}"


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
            found.append(Warned(BIMODAL, where, f"{metric}: {groups}"))
    return found


def drift(values: pl.DataFrame) -> list[Warned]:
    """The cells that rise or fall from repeat to repeat, by Kendall's test with Holm's correction over all of them.

    Only of labs on the real clock: on the virtual one every repeat is a boot of its own that knows nothing of the ones
    before it, and a trend is a coincidence of seeds.
    """
    tested = [one for one in examined(values.filter(clock="real")) if one.values.shape[1] >= FEWEST]
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
            found.append(Warned(DRIFT, where, f"{metric} {way}: p = {own[row]:.2g}, corrected for {number} cells"))
    return found


def saturated(cells: pl.DataFrame) -> list[Warned]:
    """The throughputs during which the machine had nothing left to give, put together by condition and workload."""
    fast = cells.filter(unit="bit/s").select("stack", *COMPARED_WITHIN).unique()
    busy = _of_machine(cells, "busy").join(fast, on=["stack", *COMPARED_WITHIN], how="semi")
    return _together(SATURATED, busy, BUSY, "kept the machine busy for more than {limit} of the time")


def costly(cells: pl.DataFrame) -> list[Warned]:
    """The workloads beside which probes took too much, put together by condition and workload.

    Only those that measure times or rates: what probes take does not change a number of bytes.
    """
    own = {metric for name in registry.probe_names() for metric in registry.probe(name).ABOUT.metrics}
    timed = (
        cells.filter(pl.col("unit").is_in(STOPPING_UNITS) & ~pl.col("metric").is_in(own))
        .select("stack", *COMPARED_WITHIN)
        .unique()
    )
    found = _of_machine(cells, probe.SHARE).join(timed, on=["stack", *COMPARED_WITHIN], how="semi")
    return _together(COSTLY, found, SHARE, "are so short that the probes took more than {limit} of the time")


def _of_machine(cells: pl.DataFrame, metric: str) -> pl.DataFrame:
    """The largest median of a probe's metric for the whole machine, by stack and COMPARED_WITHIN, over pairs."""
    found = cells.filter(metric=metric, node=probe.MACHINE, statistic=WHOLE)
    return found.group_by("stack", *COMPARED_WITHIN).agg(pl.col("median").max()).sort(*COMPARED_WITHIN, "stack")


def _together(name: str, found: pl.DataFrame, limit: float, what: str) -> list[Warned]:
    """A warning for each condition and workload in which stacks are above the limit, the highest first."""
    warned = []
    for _, group in found.group_by(COMPARED_WITHIN, maintain_order=True):
        above = group.filter(pl.col("median") > limit).sort("median", "stack", descending=[True, False])
        if len(above):
            shown = [
                f"{stack} ({_percent(value)})" for stack, value in above.select("stack", "median").head(SHOWN).rows()
            ]
            more = [f"{len(above) - SHOWN} more"] if len(above) > SHOWN else []
            counted = f"{len(above)} of {len(group)} stacks {what.format(limit=_percent(limit))}"
            where = ", ".join(_place(group.row(0, named=True)))
            warned.append(Warned(name, where, f"{counted}: {_listed([*shown, *more])}"))
    return warned


def _place(cell: dict[str, str]) -> list[str]:
    """Profile, what else is not as usual, and workload."""
    special = [f"{axis}={cell[axis]}" for axis, usual in axes.USUAL.items() if cell[axis] != usual]
    return [cell["profile"], *special, cell["workload"]]


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %"


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
