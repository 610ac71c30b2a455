"""Warnings: a closed set, each with what to do next."""

from typing import NamedTuple

import polars as pl

from tunbench.analysis.audit import checks
from tunbench.analysis.cells import per_trial
from tunbench.analysis.frame import measured
from tunbench.analysis.statistics import FEWEST
from tunbench.journal.record import Record, Warned
from tunbench.runner.declare.axes import CELL
from tunbench.runner.declare.warnings import WarningKind


class Kind(NamedTuple):
    """What a warning means, and the mend."""

    meaning: str
    mend: str


KINDS = {kind.value: Kind(kind.meaning, kind.mend) for kind in WarningKind}
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
        Warned(WarningKind.TOO_FEW_TRIALS, f"{count} of {len(counted)} cells", f"{_trials(n)}, {rest}")
        for n, count in few.iter_rows()
    ]


def _trials(n: int) -> str:
    return "1 trial each" if n == 1 else f"{n} trials each"
