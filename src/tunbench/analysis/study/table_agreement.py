"""Published tables beside what a run measured: row by row, and as one number, the agreement of their ranks."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tunbench.analysis.statistics import Estimate, estimate
from tunbench.analysis.study.cell_lookup import NOT_RUN, CellValues, MeasuredCells, look_up
from tunbench.analysis.study.rank_correlation import FEWEST_FOR_ORDER, Rank, RankCorrelation, correlation, ranked
from tunbench.journal.readers.published import Published, of_table
from tunbench.plan.study.publication import Study
from tunbench.plan.study.published_table import PublishedTable

NO_CELL = "its condition has no cell here"
ILLEGIBLE = "illegible"

TIED = 0.03
"""Published values that differ by so much of the larger one, or by less, tie: that is no order."""


class ComparedNumber(NamedTuple):
    """A published number beside what was measured, as the table scales it; `why` says which of both is missing.

    Ranks are among the rows of one condition that have both, the best first; those that tie have their mean. `ties` are
    the others whose published value ties with this one.
    """

    published: Published
    stack: str
    found: CellValues | None
    measured: Estimate | None
    why: str = ""
    published_rank: float | None = None
    measured_rank: float | None = None
    ties: int = 0

    @property
    def error(self) -> float | None:
        """What was measured beyond what was published, as a share of the latter: nothing of 0 has one."""
        return None if self.ratio is None else self.ratio - 1

    @property
    def ratio(self) -> float | None:
        """What was measured, divided by what was published."""
        value = self.published.value
        return self.measured.median / value if self.measured and value else None


class TableAgreement(NamedTuple):
    """A table: its rows, the agreement of each condition by its published name, and that of all rows together."""

    table: PublishedTable
    rows: tuple[ComparedNumber, ...]
    conditions: Mapping[str, RankCorrelation]
    whole: RankCorrelation

    @property
    def name(self) -> str:
        """What the table is called: its published name, with metric and statistic where they say more."""
        more = [word for word in (self.table.metric, self.table.statistic) if word and word != self.table.table]
        return f"{self.table.table} ({', '.join(more)})" if more else self.table.table


def compare_tables(study: Study, published: Sequence[Published], run: MeasuredCells) -> list[TableAgreement]:
    """Each table of a study beside what the run measured."""
    return [compare_table(table, study.systems_of(table), study.missing, published, run) for table in study.table]


def compare_table(
    table: PublishedTable,
    systems: Mapping[str, str],
    missing: Mapping[str, str],
    published: Sequence[Published],
    run: MeasuredCells,
) -> TableAgreement:
    """One table beside what the run measured."""
    rows = [_row(one, table, systems, missing, run) for one in of_table(table, published)]
    conditions = list(dict.fromkeys(row.published.condition for row in rows if row.why != NO_CELL))
    ranked = {name: _ranked([row for row in rows if row.published.condition == name]) for name in conditions}
    rest = [row for row in rows if row.published.condition not in ranked]
    return TableAgreement(
        table,
        (*(row for of_condition in ranked.values() for row in of_condition), *rest),
        {name: _agreement(of_condition) for name, of_condition in ranked.items()},
        _whole(list(ranked.values())),
    )


def _row(
    published: Published,
    table: PublishedTable,
    systems: Mapping[str, str],
    missing: Mapping[str, str],
    run: MeasuredCells,
) -> ComparedNumber:
    if published.condition not in table.conditions:
        return ComparedNumber(published, "", None, None, NO_CELL)
    if published.system not in systems:
        return ComparedNumber(published, "", None, None, missing.get(published.system, "it has no stack here"))
    stack = systems[published.system]
    found = look_up({**table.cell, **table.conditions[published.condition], "stack": stack}, run)
    if not found.values:
        return ComparedNumber(published, stack, found, None, NOT_RUN if found.absent else found.why)
    measured = estimate([value * table.scaled_by for value in found.values.values()])
    return ComparedNumber(published, stack, found, measured, "" if published.value is not None else ILLEGIBLE)


def _ranked(rows: Sequence[ComparedNumber]) -> list[ComparedNumber]:
    """The rows with their ranks, where they have both numbers."""
    both = [row for row in rows if not row.why]
    better = -1.0 if any(row.found and row.found.more_is_better for row in both) else 1.0
    published = ranked([better * _published(row) for row in both], TIED)
    measured = ranked([better * _measured(row) for row in both])
    ranks = iter(zip(published, measured, strict=True))
    return [row if row.why else _with_ranks(row, *next(ranks)) for row in rows]


def _with_ranks(row: ComparedNumber, published: Rank, measured: Rank) -> ComparedNumber:
    return row._replace(published_rank=published.rank, measured_rank=measured.rank, ties=published.ties)


def _agreement(rows: Sequence[ComparedNumber]) -> RankCorrelation:
    both = [row for row in rows if not row.why]
    return correlation([_published(row) for row in both], [_measured(row) for row in both], TIED)


def _whole(conditions: Sequence[Sequence[ComparedNumber]]) -> RankCorrelation:
    """The agreement of all rows together; without p where a system has rows of several conditions: they depend.

    Where fewer than FEWEST_FOR_ORDER systems are common, it is no order of systems.
    """
    rows = [row for of_condition in conditions for row in of_condition]
    if len(conditions) == 1:
        return _agreement(rows)
    systems = {row.published.system for row in rows if not row.why}
    found = _agreement(rows)
    if found.tau is not None and len(systems) < FEWEST_FOR_ORDER:
        counted = "1 common system" if len(systems) == 1 else f"{len(systems)} common systems"
        return RankCorrelation(
            found.n, None, None, None, None, f"{counted}: an order needs at least {FEWEST_FOR_ORDER}"
        )
    return found._replace(tau_p=None, rho_p=None)


def _published(row: ComparedNumber) -> float:
    return row.published.value if row.published.value is not None else float("nan")


def _measured(row: ComparedNumber) -> float:
    return row.measured.median if row.measured else float("nan")
