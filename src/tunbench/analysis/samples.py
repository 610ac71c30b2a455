"""Samples as a table with fixed columns and types, in canonical order."""

from collections.abc import Iterable, Sequence

import polars as pl

from tunbench.journal.record import COLUMNS, OF_TRIAL, Record, TrialResult
from tunbench.runner.declare import axes
from tunbench.runner.declare.verdicts import Verdict

NUMBERS: dict[str, type[pl.DataType]] = {"repeat": pl.Int64, "seed": pl.Int64, "at": pl.Float64, "value": pl.Float64}
"""The columns that hold numbers; every other one holds text."""

SCHEMA: dict[str, type[pl.DataType]] = {name: NUMBERS.get(name, pl.String) for name in COLUMNS}
"""The columns of a sample and their types; `value` is in the SI unit that `unit` names, `at` in seconds or null."""

CELL = ("lab", "clock", *axes.CELL, "pair", "node")
"""The columns that say which cell a sample is from, and between which nodes it was measured."""

TRIAL = (*CELL, "repeat", "seed")
"""The columns that say which trial a sample is from."""

OF_SAMPLE = ("metric", "unit", "value", "at", "pair", "node")
"""The columns of a sample as the journal has it."""


def every_sample(record: Record) -> pl.DataFrame:
    """All samples of a run, one row each, with the columns of SCHEMA, sorted by all of them."""
    return _table(record.trials).sort(COLUMNS)


def good_samples(trials: Iterable[TrialResult]) -> pl.DataFrame:
    """The samples that count: those of trials whose verdict is `ok`. The columns are those of SCHEMA.

    Rows stand in the order of trials (`journal.readers.journal.assemble`), and within one in that of the journal.
    """
    return _table([trial for trial in trials if trial.verdict == Verdict.OK])


def _table(trials: Sequence[TrialResult]) -> pl.DataFrame:
    """Built column by column: a million rows as dictionaries would take gigabytes."""
    heads = [{"lab": trial.lab, "clock": trial.clock, **trial.cell} for trial in trials]
    shared = pl.DataFrame({name: [head.get(name) for head in heads] for name in OF_TRIAL}, schema=_of(OF_TRIAL))
    own = pl.DataFrame(
        {name: [sample[index] for trial in trials for sample in trial.samples] for index, name in enumerate(OF_SAMPLE)},
        schema=_of(OF_SAMPLE),
        strict=False,
    )
    counts = [len(trial.samples) for trial in trials]
    which = pl.Series(range(len(trials)), dtype=pl.UInt32).repeat_by(pl.Series(counts, dtype=pl.UInt32)).explode()
    return shared[which.drop_nulls()].hstack(own).select(COLUMNS)


def _of(columns: Sequence[str]) -> dict[str, type[pl.DataType]]:
    return {name: SCHEMA[name] for name in columns}
