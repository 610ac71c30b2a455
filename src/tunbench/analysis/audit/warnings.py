"""All warnings of a run, put together by their kind."""

from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

from tunbench.analysis.audit import machine_time, repeats
from tunbench.journal.record import Warned
from tunbench.runner.declare.warnings import WarningKind

UNKNOWN = ("a warning that this version does not know", "Make the report with the version that made the run.")
"""The meaning and the mend of a warning that only another version has."""


class WarningGroup(NamedTuple):
    """The warnings of one kind: its name, its meaning, its mend, and each place and text at which it was found."""

    name: str
    meaning: str
    mend: str
    found: tuple[Warned, ...]


def warnings(of_run: Iterable[Warned], cells: pl.DataFrame, values: pl.DataFrame) -> list[WarningGroup]:
    """The warnings of the run and those that follow from what was measured, in the order of WarningKind.

    `cells` are those of `cells.cells`, and `values` those of `cells.per_trial`.
    """
    grouped: dict[str, dict[Warned, None]] = {}
    for one in (
        *repeats.too_few_trials(cells),
        *repeats.bimodal(values),
        *repeats.drift(values),
        *machine_time.saturated_machine(cells),
        *machine_time.costly_probes(cells),
        *of_run,
    ):
        grouped.setdefault(one.name, {})[one] = None
    known = {kind.value: kind for kind in WarningKind}
    names = [*(name for name in known if name in grouped), *sorted(grouped.keys() - known.keys())]
    return [WarningGroup(name, *_words(known.get(name)), tuple(grouped[name])) for name in names]


def _words(kind: WarningKind | None) -> tuple[str, str]:
    return (kind.meaning, kind.mend) if kind else UNKNOWN
