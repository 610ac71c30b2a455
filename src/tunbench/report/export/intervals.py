"""A number and its bounds in one column, as a paper shows them: `11.8 ms [11.7, 11.9]`."""

import re
from collections.abc import Sequence

from tunbench.report import units
from tunbench.report.tables.table import Column, Field, Table

WITH_UNIT = re.compile(rf"((?:[★≈] )?[{units.MINUS}\d.]+){units.NBSP}([^\s\[]+)((?:\s.*)?)")
"""A number, its unit, and its interval or mark."""

BOUNDS = ("low", "high")
"""The last words of the headings of a number's bounds, which stand behind it in this order."""


def together(table: Table) -> Table:
    """The table with each number and the two bounds behind it in one column, so that nothing can part them.

    The unit stands once, at the number; a bound that has another one keeps it.
    """
    starts = [at for at in range(len(table.columns)) if _has_bounds(table.columns, at)]
    bounds = {at + step for at in starts for step in (1, 2)}
    kept = [at for at in range(len(table.columns)) if at not in bounds]
    rows = [
        row._replace(fields=tuple(_joined(row.fields[at : at + 3]) if at in starts else row.fields[at] for at in kept))
        for row in table.rows
    ]
    columns = [table.columns[at] for at in kept]
    named = [
        one._replace(heading=f"{one.heading} [low, high]") if at in starts else one
        for at, one in zip(kept, columns, strict=True)
    ]
    return table._replace(columns=tuple(named), rows=rows)


def _has_bounds(columns: Sequence[Column], at: int) -> bool:
    behind = [one.heading.rpartition(" ")[2] for one in columns[at + 1 : at + 3] if one.number]
    return columns[at].number and tuple(behind) == BOUNDS


def _joined(fields: Sequence[Field]) -> Field:
    number, *bounds = fields
    if not all(one.text and one.text != units.NOTHING for one in bounds):
        return number
    low, high = (_beside(number.text, one.text) for one in bounds)
    return number._replace(text=f"{number.text} [{low}, {high}]")


def _beside(number: str, bound: str) -> str:
    """A bound without the unit that its number has."""
    one, other = WITH_UNIT.fullmatch(number), WITH_UNIT.fullmatch(bound)
    return other[1] if one and other and one[2] == other[2] else bound
