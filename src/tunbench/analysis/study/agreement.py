"""Published tables beside what a run measured: row by row, and as one number, the agreement of their ranks."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from scipy.stats import rankdata

from tunbench.analysis.statistics import Estimate, estimate
from tunbench.analysis.study.lookup import NOT_RUN, Found, Measured, look
from tunbench.analysis.study.ranks import FEWEST, Agreement, correlation
from tunbench.analysis.study.reference import Published, of_table
from tunbench.plan.study.publication import Study, Table

NO_CELL = "its condition has no cell here"
ILLEGIBLE = "illegible"


class Row(NamedTuple):
    """A published number beside what was measured; `why` says which of both is missing.

    Ranks are among the rows of one condition that have both, the best first; those that tie have their mean.
    """

    published: Published
    stack: str
    found: Found | None
    measured: Estimate | None
    why: str = ""
    published_rank: float | None = None
    measured_rank: float | None = None

    @property
    def ratio(self) -> float | None:
        """What was measured, divided by what was published."""
        value = self.published.value
        return self.measured.median / value if self.measured and value else None


class Agreed(NamedTuple):
    """A table: its rows, the agreement of each condition by its published name, and that of all rows together."""

    table: Table
    rows: tuple[Row, ...]
    conditions: Mapping[str, Agreement]
    whole: Agreement

    @property
    def name(self) -> str:
        """What the table is called: its published name, with metric and statistic where they say more."""
        more = [word for word in (self.table.metric, self.table.statistic) if word and word != self.table.table]
        return f"{self.table.table} ({', '.join(more)})" if more else self.table.table


def agreements(study: Study, published: Sequence[Published], run: Measured) -> list[Agreed]:
    """Each table of a study beside what the run measured."""
    return [agreed(table, study.systems_of(table), study.missing, published, run) for table in study.table]


def agreed(
    table: Table, systems: Mapping[str, str], missing: Mapping[str, str], published: Sequence[Published], run: Measured
) -> Agreed:
    """One table beside what the run measured."""
    rows = [_row(one, table, systems, missing, run) for one in of_table(table, published)]
    conditions = list(dict.fromkeys(row.published.condition for row in rows if row.why != NO_CELL))
    ranked = {name: _ranked([row for row in rows if row.published.condition == name]) for name in conditions}
    rest = [row for row in rows if row.published.condition not in ranked]
    return Agreed(
        table,
        (*(row for of_condition in ranked.values() for row in of_condition), *rest),
        {name: _agreement(of_condition) for name, of_condition in ranked.items()},
        _whole(list(ranked.values())),
    )


def _row(
    published: Published, table: Table, systems: Mapping[str, str], missing: Mapping[str, str], run: Measured
) -> Row:
    if published.condition not in table.conditions:
        return Row(published, "", None, None, NO_CELL)
    if published.system not in systems:
        return Row(published, "", None, None, missing.get(published.system, "it has no stack here"))
    stack = systems[published.system]
    found = look({**table.cell, **table.conditions[published.condition], "stack": stack}, run)
    if not found.values:
        return Row(published, stack, found, None, NOT_RUN if found.absent else found.why)
    measured = estimate(list(found.values.values()))
    return Row(published, stack, found, measured, "" if published.value is not None else ILLEGIBLE)


def _ranked(rows: Sequence[Row]) -> list[Row]:
    """The rows with their ranks, where they have both numbers."""
    both = [row for row in rows if not row.why]
    better = -1.0 if any(row.found and row.found.more_is_better for row in both) else 1.0
    ranks = iter(zip(_ranks(both, _published, better), _ranks(both, _measured, better), strict=True))
    return [row if row.why else _with_ranks(row, *next(ranks)) for row in rows]


def _with_ranks(row: Row, published: float, measured: float) -> Row:
    return row._replace(published_rank=published, measured_rank=measured)


def _ranks(rows: Sequence[Row], value: Callable[[Row], float], better: float) -> list[float]:
    return [float(rank) for rank in rankdata([better * value(row) for row in rows])] if rows else []


def _agreement(rows: Sequence[Row]) -> Agreement:
    both = [row for row in rows if not row.why]
    return correlation([_published(row) for row in both], [_measured(row) for row in both])


def _whole(conditions: Sequence[Sequence[Row]]) -> Agreement:
    """The agreement of all rows together; without p where a system has rows of several conditions: they depend.

    Where fewer than FEWEST systems are common, it is no order of systems.
    """
    rows = [row for of_condition in conditions for row in of_condition]
    if len(conditions) == 1:
        return _agreement(rows)
    systems = {row.published.system for row in rows if not row.why}
    found = _agreement(rows)
    if found.tau is not None and len(systems) < FEWEST:
        counted = "1 common system" if len(systems) == 1 else f"{len(systems)} common systems"
        return Agreement(found.n, None, None, None, None, f"{counted}: an order needs at least {FEWEST}")
    return found._replace(tau_p=None, rho_p=None)


def _published(row: Row) -> float:
    return row.published.value if row.published.value is not None else float("nan")


def _measured(row: Row) -> float:
    return row.measured.median if row.measured else float("nan")
