"""Looks a cell up in a run: the values of its trials, or why there are none."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import polars as pl

from tunbench.analysis.cells import WHOLE
from tunbench.analysis.run_analysis import RunAnalysis
from tunbench.analysis.study.trial_series import added_up, of_series, spread
from tunbench.journal.record import TrialResult
from tunbench.plan.model import Plan
from tunbench.plan.study.cell import OF_SERIES, OVER_PLACES, SUM, Cell
from tunbench.plan.study.grid import Grid, NoCell, grid, metric_of, resolve
from tunbench.runner.declare import axes
from tunbench.runner.declare.verdicts import Verdict

MEDIAN = "median"
"""The statistic of a trial that gives a series alone."""

ABSENT = "the plan as it was run has no such cell"

NOT_RUN = "not run"
"""What stands for the verdict or the number of a cell that is absent."""

Pair = tuple[int, int]
"""A repeat and its seed."""


class TrialCounts(NamedTuple):
    """How many trials of a cell are ok, of how many that were executed."""

    ok: int = 0
    of: int = 0

    @property
    def in_words(self) -> str:
        """Both numbers in words, where some trial is not ok."""
        return f"{self.ok} ok of {self.of} trials" if self.ok < self.of else ""


class MeasuredCells(NamedTuple):
    """A run as it is looked up: the cells of its plan, the values of each, and what became of those without any.

    `trials` are the numbers of trials of each cell that are ok, and that were executed; `verdicts` tell of each trial.
    `samples` are all that count, for what a claim asks of a series.
    """

    grid: Grid
    values: Mapping[tuple[object, ...], pl.DataFrame]
    failed: Mapping[tuple[object, ...], str]
    trials: Mapping[tuple[object, ...], TrialCounts]
    verdicts: Mapping[tuple[object, ...], Mapping[Pair, str]]
    samples: pl.DataFrame


class CellValues(NamedTuple):
    """The cell that was meant, with its unit and its trials' values; or `why` there are none.

    It is `absent` where the run's plan does not have it. `varied` are the axes of which the plan has several values.
    Each value is the sum of so many places as `summed` says.
    """

    cell: Mapping[str, str]
    unit: str
    more_is_better: bool | None
    values: Mapping[Pair, float]
    why: str = ""
    absent: bool = False
    varied: tuple[str, ...] = ()
    trials: TrialCounts = TrialCounts()
    summed: int = 1


def measured(analysis: RunAnalysis, plan: Plan) -> MeasuredCells:
    """A run that was made of this plan."""
    found = analysis.values.partition_by(*axes.NAMES, as_dict=True)
    failed = {
        tuple(trial.cell[axis] for axis in axes.NAMES): trial.reason or trial.verdict
        for trial in reversed(analysis.record.trials)
        if trial.verdict != Verdict.OK
    }
    verdicts: dict[tuple[object, ...], dict[Pair, str]] = {}
    for trial in analysis.record.trials:
        key = tuple(trial.cell[axis] for axis in axes.NAMES)
        verdicts.setdefault(key, {})[trial.cell["repeat"], trial.cell["seed"]] = trial.verdict
    trials = executed(analysis.record.trials)
    return MeasuredCells(grid(plan), found, failed, trials, verdicts, analysis.samples)


def executed(trials: Iterable[TrialResult]) -> dict[tuple[object, ...], TrialCounts]:
    """How many trials of each cell are ok, by the cell's axes.NAMES."""
    found: dict[tuple[object, ...], TrialCounts] = {}
    for trial in trials:
        key = tuple(trial.cell[axis] for axis in axes.NAMES)
        ok, of = found.get(key, TrialCounts())
        found[key] = TrialCounts(ok + (trial.verdict == Verdict.OK), of + 1)
    return found


def look_up(cell: Cell, run: MeasuredCells) -> CellValues:
    """What a run measured of a cell. Raises MistakeAt where the cell could be several of the plan's."""
    try:
        resolved = resolve(cell, run.grid)
    except NoCell:
        return CellValues(dict(cell), "", True, {}, ABSENT, absent=True)
    key = tuple(resolved[axis] for axis in axes.NAMES)
    varied = tuple(axis for axis in axes.NAMES if len(run.grid.values[axis]) > 1)
    if "verdict" in resolved:
        return _shared(resolved, varied, run.verdicts.get(key, {}))
    metric = metric_of(resolved, run.grid)
    nothing = CellValues(resolved, metric.unit, metric.more_is_better, {}, varied=varied)
    nothing = nothing._replace(trials=run.trials.get(key, TrialCounts()))
    rows = run.values[key].filter(pl.col("metric") == resolved["metric"]) if key in run.values else None
    if rows is None or rows.is_empty():
        return nothing._replace(why=f"no trial is ok: {run.failed[key]}" if key in run.failed else "not measured")
    statistic = resolved.setdefault("statistic", _central(rows))
    if statistic in OF_SERIES:
        rows = of_series(run.samples, key, resolved["metric"], statistic)
    rows = rows.filter(pl.col("statistic") == (_central(rows) if statistic in OVER_PLACES else statistic))
    for column in ("pair", "node"):
        if column in resolved:
            rows = rows.filter(pl.col(column) == resolved[column])
    places = rows.select("pair", "node").unique().sort("pair", "node").rows()
    if not places:
        return nothing._replace(why="its trials have no such statistic, node or pair")
    if statistic in OVER_PLACES:
        return _over_places(nothing, statistic, rows, len(places))
    if len(places) > 1:
        where = "; ".join(f"pair {pair}, node {node}" for pair, node in places)
        return nothing._replace(
            why=f"it was measured at several places, name one, or ask for their sum or spread: {where}"
        )
    values = {(repeat, seed): value for repeat, seed, value in rows.select("repeat", "seed", "value").iter_rows()}
    return nothing._replace(values=values)


def _central(rows: pl.DataFrame) -> str:
    """The statistic that is meant where none is named."""
    return WHOLE if WHOLE in rows["statistic"].unique().to_list() else MEDIAN


def _shared(resolved: Mapping[str, str], varied: tuple[str, ...], verdicts: Mapping[Pair, str]) -> CellValues:
    """1 for each trial that has the verdict, and 0 for each other one that is not unsupported."""
    tried = {pair: one for pair, one in verdicts.items() if one != Verdict.UNSUPPORTED}
    values = {pair: float(one == resolved["verdict"]) for pair, one in tried.items()}
    why = "" if tried else "all trials are unsupported" if verdicts else "not measured"
    return CellValues(resolved, "ratio", None, values, why, varied=varied)


def _over_places(nothing: CellValues, statistic: str, rows: pl.DataFrame, places: int) -> CellValues:
    """How far apart the places of each trial are, or what they come to together."""
    if places < 2:
        return nothing._replace(why=f"it was measured at one place alone, which has no {statistic}")
    if statistic == SUM:
        return nothing._replace(values=added_up(rows), summed=places)
    return nothing._replace(unit="ratio", values=spread(rows))
