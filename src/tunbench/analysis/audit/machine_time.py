"""Warnings that the time of the machine gives: it was busy all along, or the probes took too much of it."""

from collections.abc import Sequence

import polars as pl

from tunbench.analysis.audit.places import within_condition
from tunbench.analysis.cells import WHOLE
from tunbench.journal.record import Warned
from tunbench.plan.until import STOPPING_UNITS
from tunbench.runner import probe, registry
from tunbench.runner.declare import axes
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.node.node import ROOT_NODE

MAX_BUSY = 0.95
"""The part of its time that the machine is busy, beyond which it decides on a throughput."""

MAX_PROBE_SHARE = 0.05
"""The part of the measured time that probes may take."""

COMPARED_WITHIN = (*axes.CONDITION, "workload")
"""What stacks are compared within."""

MAX_NAMED = 3
"""Stacks that a warning names; of more, it says how many."""


def saturated_machine(cells: pl.DataFrame) -> list[Warned]:
    """The throughputs during which the machine had nothing left to give, put together by condition and workload."""
    fast = cells.filter(unit="bit/s").select("stack", *COMPARED_WITHIN).unique()
    busy = _of_machine(cells, "busy").join(fast, on=["stack", *COMPARED_WITHIN], how="semi")
    return _warned(
        WarningKind.SATURATED_MACHINE, busy, MAX_BUSY, "kept the machine busy for more than {limit} of the time"
    )


def costly_probes(cells: pl.DataFrame) -> list[Warned]:
    """The workloads beside which probes took too much, put together by condition and workload.

    Only those that measure times or rates: what probes take does not change a number of bytes.
    """
    own = {metric for name in registry.probe_names() for metric in registry.probe(name).ABOUT.metrics}
    timed = (
        cells.filter(pl.col("unit").is_in(STOPPING_UNITS) & ~pl.col("metric").is_in(own))
        .select("stack", *COMPARED_WITHIN)
        .unique()
    )
    found = _of_machine(cells, probe.PROBE_SHARE).join(timed, on=["stack", *COMPARED_WITHIN], how="semi")
    return _warned(
        WarningKind.COSTLY_PROBE,
        found,
        MAX_PROBE_SHARE,
        "are so short that the probes took more than {limit} of the time",
    )


def _of_machine(cells: pl.DataFrame, metric: str) -> pl.DataFrame:
    """The largest median of a probe's metric for the whole machine, by stack and COMPARED_WITHIN, over pairs."""
    found = cells.filter(metric=metric, node=ROOT_NODE, statistic=WHOLE)
    return found.group_by("stack", *COMPARED_WITHIN).agg(pl.col("median").max()).sort(*COMPARED_WITHIN, "stack")


def _warned(kind: WarningKind, found: pl.DataFrame, limit: float, what: str) -> list[Warned]:
    """A warning for each condition and workload in which stacks are above the limit, the highest first."""
    warned_of = []
    for _, group in found.group_by(COMPARED_WITHIN, maintain_order=True):
        above = group.filter(pl.col("median") > limit).sort("median", "stack", descending=[True, False])
        if len(above):
            shown = [
                f"{stack} ({_percent(value)})"
                for stack, value in above.select("stack", "median").head(MAX_NAMED).rows()
            ]
            more = [f"{len(above) - MAX_NAMED} more"] if len(above) > MAX_NAMED else []
            counted = f"{len(above)} of {len(group)} stacks {what.format(limit=_percent(limit))}"
            where = ", ".join(within_condition(group.row(0, named=True)))
            warned_of.append(Warned(kind, where, f"{counted}: {_listed([*shown, *more])}"))
    return warned_of


def _percent(value: float) -> str:
    return f"{100 * value:.3g} %"


def _listed(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
