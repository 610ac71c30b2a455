"""Two runs compared: for each cell and metric the shift, the effect size, the corrected p, and a verdict in words."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import polars as pl

from tunbench.analysis import order
from tunbench.analysis.cells import WHOLE
from tunbench.analysis.compare.compared_cell import (
    BETTER,
    DIFFERENT,
    IDENTICAL,
    NEITHER,
    NOTHING_SHOWN,
    UNDECIDED,
    WORSE,
    ComparedCell,
)
from tunbench.analysis.compare.failed_cells import some_failed, without_numbers
from tunbench.analysis.compare.manifests import Difference, differences, lab_of
from tunbench.analysis.compare.selection import KEY, CompareError, Key, Selection, chosen
from tunbench.analysis.compare.two_samples import FEWEST_FOR_TEST, cliff, mann_whitney, relative, shift, smallest_p
from tunbench.analysis.metrics import headlines, more_is_better
from tunbench.analysis.multiple_tests import holm
from tunbench.analysis.run_analysis import RunAnalysis
from tunbench.journal.record import Record, TrialResult
from tunbench.runner.declare import axes
from tunbench.runner.declare.metrics import BRING_UP
from tunbench.runner.declare.verdicts import Verdict

LEVEL = 0.05
"""Below which a corrected p shows a difference."""

SIDES = ("A", "B")
"""What the two runs are called, unless they have names of their own."""

Values = dict[tuple[int, int], float]
"""One value a trial, by its repeat and seed."""


class RunComparison(NamedTuple):
    """Two runs side by side: whether their fingerprints are equal, what differs of them, and the rows, in plan order.

    `tests` is the number of rows that Holm's correction counts, `lacking` the trials that A and B were to have and have
    not, `sides` what both are called in sentences.
    """

    identical: bool
    differences: list[Difference]
    rows: list[ComparedCell]
    tests: int
    lacking: tuple[int, int] = (0, 0)
    sides: tuple[str, str] = SIDES


def compare(
    a: RunAnalysis,
    b: RunAnalysis,
    choice: Selection = Selection(),  # noqa: B008 - it cannot be changed
    sides: tuple[str, str] = SIDES,
) -> RunComparison:
    """Compares two runs. Raises CompareError where their labs differ, or nothing is there that was chosen."""
    if lab_of(a.record) != lab_of(b.record):
        raise CompareError(
            f"the runs are from different labs, {lab_of(a.record)} and {lab_of(b.record)}: their numbers do not mean "
            "the same; run the plan in one of them twice"
        )
    virtual = a.record.clock == "virtual"
    identical = virtual and a.record.fingerprint == b.record.fingerprint
    both, trials = (_values(a.values), _values(b.values)), (_trials(a.record), _trials(b.record))
    keys = chosen({**dict.fromkeys(both[0]), **dict.fromkeys(both[1]), **dict.fromkeys(_unmeasured(*trials))}, choice)
    place_of, named = _order(a.record, b.record), dict(zip(sides, trials, strict=True))
    keys.sort(key=place_of.rank)
    rows = [
        _row(key, place_of.condition(key), [side.get(key, {}) for side in both], named, virtual, identical)
        for key in keys
    ]
    tests = sum(row.p is not None for row in rows)
    rows = [
        _with_least(row, [list(side[key].values()) for side in both], tests) if row.verdict == WORSE else row
        for key, row in zip(keys, _decided(rows), strict=True)
    ]
    lacking = a.record.missing, b.record.missing
    return RunComparison(identical, differences(a.record, b.record), rows, tests, lacking, sides)


def _values(values: pl.DataFrame) -> dict[Key, Values]:
    found: dict[Key, Values] = {}
    for *key, repeat, seed, value in values.select(*KEY, "repeat", "seed", "value").iter_rows():
        found.setdefault(tuple(key), {})[repeat, seed] = value
    return found


def _trials(record: Record) -> dict[Key, list[TrialResult]]:
    """The trials of each cell, by its stack, place and workload."""
    found: dict[Key, list[TrialResult]] = {}
    for trial in record.trials:
        found.setdefault(_cell(trial.cell), []).append(trial)
    return found


def _cell(cell: Mapping[str, Any]) -> Key:
    return (cell["stack"], *order.condition_of(cell), cell["workload"])


def _unmeasured(a: dict[Key, list[TrialResult]], b: dict[Key, list[TrialResult]]) -> Iterable[Key]:
    """Keys for cells that have not one good trial in either run; nothing tells what they would have measured."""
    for cell in {**a, **b}:
        here = [*a.get(cell, ()), *b.get(cell, ())]
        if cell[-1] != BRING_UP and not any(trial.verdict == Verdict.OK for trial in here):
            yield from ((*cell, "", "", metric, WHOLE, "") for metric in headlines(cell[-1])[:1] or ("",))


class _Order(NamedTuple):
    """The order of keys, and the name of the condition of each."""

    rank: Callable[[Key], Any]
    condition: Callable[[Key], str]


def _order(a: Record, b: Record) -> _Order:
    """That of A's plan; what only B has comes after it."""
    merged = replace(a, trials=(*a.trials, *b.trials))
    stacks, conditions = order.stacks(merged), order.conditions(merged)
    numbers = {values: number for number, values in enumerate(conditions)}
    ranks = {stack: number for number, stack in enumerate(stacks)}
    places = slice(KEY.index(axes.CONDITION[0]), KEY.index(axes.CONDITION[-1]) + 1)
    return _Order(
        lambda key: (numbers[key[places]], ranks[key[0]], key[places.stop :]),
        lambda key: conditions[key[places]],
    )


def _row(
    key: Key,
    condition: str,
    values: Sequence[Values],
    trials: Mapping[str, dict[Key, list[TrialResult]]],
    virtual: bool,
    identical: bool,
) -> ComparedCell:
    one = dict(zip(KEY, key, strict=True))
    first, second = ([value for _, value in sorted(side.items())] for side in values)
    medians = [statistics.median(side) if side else None for side in (first, second)]
    row = ComparedCell(
        condition=condition,
        n_a=len(first),
        n_b=len(second),
        median_a=medians[0],
        median_b=medians[1],
        verdict=UNDECIDED,
        **cast(Any, one),
    )
    here = {name: side.get(_cell(one), []) for name, side in trials.items()}
    verdict, why = without_numbers(row, here)
    if verdict:
        return row._replace(verdict=verdict, why=why)
    row = row._replace(why=some_failed(here))
    if identical or (virtual and values[0] == values[1]):
        return row._replace(verdict=IDENTICAL)
    return _with_numbers(row, first, second)


def _with_numbers(row: ComparedCell, a: Sequence[float], b: Sequence[float]) -> ComparedCell:
    """The row with all that follows from its values alone. It stays undecided until the whole table is known."""
    tested, moved, ratio, effect = mann_whitney(a, b), shift(a, b), relative(a, b), cliff(a, b)
    return row._replace(
        direction=_direction(row, effect.delta),
        shift=moved.value,
        shift_low=moved.low,
        shift_high=moved.high,
        coverage=moved.coverage,
        relative=ratio.value if ratio else None,
        relative_low=ratio.low if ratio else None,
        relative_high=ratio.high if ratio else None,
        delta=effect.delta,
        effect=effect.word,
        p=tested.p,
        method=tested.method,
    )


def _with_least(row: ComparedCell, values: Sequence[Sequence[float]], tests: int) -> ComparedCell:
    """A row that is worse, with the least by which it is, as a share of A: the near end of the interval of its shift.

    The interval has a confidence of 1 − LEVEL ÷ tests, so that the intervals of all rows hold together with 1 − LEVEL
    (Bonferroni; Miller, Simultaneous Statistical Inference, 2nd edition (1981), section 1.4). Where a value is not
    positive, it is the absolute shift by A's median, and infinite where that is 0.
    """
    sign = -1 if more_is_better(row.workload, row.metric) else 1
    a, b = values
    moved = relative(a, b, 1 - LEVEL / tests)
    if moved:
        return row._replace(least=min(sign * moved.low, sign * moved.high))
    if not row.median_a:
        return row._replace(least=math.inf)
    absolute = shift(a, b, 1 - LEVEL / tests)
    return row._replace(least=min(sign * absolute.low, sign * absolute.high) / abs(row.median_a))


def _direction(row: ComparedCell, delta: float) -> str:
    better = more_is_better(row.workload, row.metric)
    if better is None or not delta:
        return NEITHER
    return BETTER if (delta > 0) == better else WORSE


def _decided(rows: Sequence[ComparedCell]) -> list[ComparedCell]:
    """The rows with their corrected p, and the verdict that follows from it."""
    corrected = holm([row.p for row in rows])
    tests = sum(row.p is not None for row in rows)
    return [
        _verdict(row._replace(corrected=p), tests) if row.verdict == UNDECIDED else row
        for row, p in zip(rows, corrected, strict=True)
    ]


def _verdict(row: ComparedCell, tests: int) -> ComparedCell:
    if row.corrected is None:
        return _because(row, f"{row.n_a} and {row.n_b} trials; it needs {FEWEST_FOR_TEST} on both sides")
    if row.corrected < LEVEL:
        return row._replace(verdict=DIFFERENT if row.direction == NEITHER else row.direction)
    if smallest_p(row.n_a, row.n_b) * tests >= LEVEL:
        needs = f"cannot reach p < {LEVEL} among {tests} tests; it needs more trials or fewer cells"
        return _because(row, f"{row.n_a} and {row.n_b} trials {needs}")
    return row._replace(verdict=NOTHING_SHOWN)


def _because(row: ComparedCell, why: str) -> ComparedCell:
    return row._replace(why="; ".join(part for part in (why, row.why) if part))
