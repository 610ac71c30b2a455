"""Samples as a table with fixed columns and types, in canonical order."""

from collections.abc import Iterable

import polars as pl

from tunbench.journal.record import COLUMNS, Record, TrialResult

NUMBERS: dict[str, type[pl.DataType]] = {"repeat": pl.Int64, "seed": pl.Int64, "at": pl.Float64, "value": pl.Float64}
"""The columns that hold numbers; every other one holds text."""

SCHEMA: dict[str, type[pl.DataType]] = {name: NUMBERS.get(name, pl.String) for name in COLUMNS}
"""The columns of a sample and their types; `value` is in the SI unit that `unit` names, `at` in seconds or null."""

CELL = ("lab", "clock", "stack", "profile", "topology", "tuning", "machine", "workload", "pair", "node")
"""The columns that say which cell a sample is from, and between which nodes it was measured."""

TRIAL = (*CELL, "repeat", "seed")
"""The columns that say which trial a sample is from."""


def frame(record: Record) -> pl.DataFrame:
    """All samples of a run, one row each, with the columns of SCHEMA, sorted by all of them."""
    return _table(record.trials)


def measured(record: Record) -> pl.DataFrame:
    """The samples that count: those of trials whose verdict is `ok`. Shape and order are those of `frame`."""
    return well(record.trials)


def well(trials: Iterable[TrialResult]) -> pl.DataFrame:
    """The samples of those of the trials whose verdict is `ok`. Shape and order are those of `frame`."""
    return _table(trial for trial in trials if trial.verdict == "ok")


def _table(trials: Iterable[TrialResult]) -> pl.DataFrame:
    rows = [row for trial in trials for row in trial.rows]
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    return pl.DataFrame(columns, schema=SCHEMA, strict=False).sort(COLUMNS)
