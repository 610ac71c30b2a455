"""Warnings: a closed set, each with what to do next."""

from typing import NamedTuple

import polars as pl

from tunbench.analysis.audit import checks
from tunbench.analysis.cells import per_trial
from tunbench.analysis.frame import measured
from tunbench.analysis.statistics import FEWEST
from tunbench.journal import read
from tunbench.journal.record import Record, Warned
from tunbench.labs.real_time import host_condition, noise
from tunbench.labs.real_time.host_condition import Kind
from tunbench.runner.declare.axes import CELL

TOO_FEW_TRIALS = "too-few-trials"

KINDS = {
    **host_condition.KINDS,
    noise.NAME: Kind(
        "other processes, a hypervisor or heat disturbed a trial while it was measured",
        "Its numbers count like any other's: look at how far they lie apart from those of quiet repeats. Then let the "
        "machine come to rest, and run the plan again; where a hypervisor moves the cores, raise repeats, or take a "
        "machine of your own.",
    ),
    read.UNEQUAL: Kind(
        "a trial came out otherwise when it was executed again, on a clock whose results are equal",
        "Run the plan anew with no more --workers than cores, and compare `tunbench digest` of both runs; where they "
        "differ too, docs/virtual-time.md says what equal results depend on.",
    ),
    TOO_FEW_TRIALS: Kind(
        "too few trials for a 95 % interval",
        f"Raise repeats to at least {FEWEST} in the plan, better to 10.",
    ),
    checks.BIMODAL: Kind(
        "the trials of a cell fall into two groups, and the median says little of either",
        "Look at the trials of both groups: another path, another processor frequency, a retry. Then measure each "
        "alone, or raise repeats and report both.",
    ),
    checks.DRIFT: Kind(
        "what was measured rises or falls from repeat to repeat",
        "Let the machine come to rest: warm, nothing else running, a fixed processor frequency. Or run the plan in the "
        "vm lab on the virtual clock, where repeats know nothing of each other.",
    ),
    checks.SATURATED: Kind(
        "the machine was busy all the time: the throughput is what its processor can do, not what the path can carry",
        "Read it as the cost of the stack, not as the speed of a link. For the path, set a rate in the profile or in "
        "the workload that the machine can serve, or take a faster machine.",
    ),
    checks.COSTLY: Kind(
        "the probes took a noticeable part of the time that was measured",
        "Make the workload longer, or name fewer probes in the plan's key probes.",
    ),
    "netem-limit": Kind(
        "netem dropped packets because its queue was full",
        "Raise limit in the profile until it covers rate × (delay + jitter), or lower the load of the workload.",
    ),
    "netem-differs": Kind(
        "the kernel installed another impairment than the profile asked for",
        "Change the profile to what this kernel can install, or run the plan in the vm lab.",
    ),
    "tuning-differs": Kind(
        "the kernel made something else of a setting than the tuning asked for",
        "Change the tuning to the value that this kernel takes, or run the plan in the vm lab.",
    ),
    "left-behind": Kind(
        "something of a stack was still there after it had been taken down",
        "Let the tunnel's method `down` take it away.",
    ),
    "relayed": Kind(
        "packets of a workload went through a node that is neither end",
        "Read its numbers as those of a relayed path; the logs of the endpoints say why they lost the direct one.",
    ),
    "outside": Kind(
        "something tried to send packets out of the lab",
        "Find the program by the packets, and tell it to stay inside: no updates, no telemetry.",
    ),
}
"""Every warning that a report can hold, by its name, in the order of the report."""

UNKNOWN = Kind("a warning that this version does not know", "Make the report with the version that made the run.")


class Warning(NamedTuple):
    """A warning with its mend, and each place and text at which it was found."""

    name: str
    kind: Kind
    found: tuple[Warned, ...]


def warnings(record: Record, cells: pl.DataFrame, values: pl.DataFrame | None = None) -> list[Warning]:
    """The warnings of the run and those that follow from what was measured, in the order of KINDS.

    `cells` are those of `cells.cells`, and `values` those of `cells.per_trial`, which are computed where not given.
    """
    values = per_trial(measured(record)) if values is None else values
    found = [
        *too_few_trials(cells),
        *checks.bimodal(values),
        *checks.drift(values),
        *checks.saturated(cells),
        *checks.costly(cells),
        *record.warnings,
    ]
    grouped: dict[str, dict[Warned, None]] = {}
    for one in found:
        grouped.setdefault(one.name, {})[one] = None
    names = [*(name for name in KINDS if name in grouped), *sorted(grouped.keys() - KINDS.keys())]
    return [Warning(name, KINDS.get(name, UNKNOWN), tuple(grouped[name])) for name in names]


def too_few_trials(cells: pl.DataFrame) -> list[Warned]:
    """One warning for each number of trials that is too small for an interval, saying how many cells have it."""
    counted = cells.group_by(CELL).agg(pl.col("n").max())
    few = (
        counted.filter(pl.col("n") < FEWEST)
        .group_by("n")
        .agg(pl.len().alias("cells"))
        .sort("cells", "n", descending=True)
    )
    rest = f"and {FEWEST} are needed; the range is shown"
    return [
        Warned(TOO_FEW_TRIALS, f"{count} of {len(counted)} cells", f"{_trials(n)}, {rest}")
        for n, count in few.iter_rows()
    ]


def _trials(n: int) -> str:
    return "1 trial each" if n == 1 else f"{n} trials each"
