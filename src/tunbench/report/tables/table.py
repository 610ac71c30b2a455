"""What a table is: rows of texts with the numbers behind them, for a page, a terminal, a spreadsheet or a paper."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tunbench.report import units
from tunbench.report.view import View


class Column(NamedTuple):
    """A column: its heading, whether it holds numbers and in which SI unit, and its numbers in the filters, or −1.

    Without a unit, its numbers are ratios or counts, or the column `unit` names that of each row. On a narrow terminal
    it keeps `least` characters, and is broken nowhere where it is `whole`.
    """

    heading: str
    number: bool = False
    unit: str = ""
    condition: int = -1
    least: int | None = None
    whole: bool = False
    stack: int = -1
    workload: int = -1
    run: int = 0


BEST, TIED, FEW = "best", "tied", "few"
"""Kinds of fields: ahead of all others, not told from the best, and of too few trials to be either."""


class Field(NamedTuple):
    """A field: its text, the number behind it in an SI unit, how full it is drawn (0 to 1), and its style.

    `why` says why there is no number.
    """

    text: str
    key: float | None = None
    heat: float | None = None
    kind: str = ""
    why: str = ""


class TableRow(NamedTuple):
    """A row, with its numbers in the filters; −1 where it belongs to several."""

    fields: tuple[Field, ...]
    stack: int = -1
    condition: int = -1
    workload: int = -1
    run: int = 0


class Table(NamedTuple):
    """A table with what it says of itself: its caption, how many rows are left out, and what is noted below it.

    It is `sortable` where the fields of a column can be compared.
    """

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: list[TableRow]
    left_out: int = 0
    notes: tuple[str, ...] = ()
    sortable: bool = True

    @property
    def topic(self) -> str:
        """What the table is of in a few words: the beginning of its caption."""
        begun = re.split(r"[.:](?: |$)", self.caption, maxsplit=1)[0]
        return f"{begun[:1].lower()}{begun[1:]}"


PLACE_COLUMNS = (Column("stack"), Column("profile"))
"""The first columns of nearly every table: where a row is from."""


def placed(view: View, row: Mapping[str, Any], fields: Sequence[Field]) -> TableRow:
    """A row that begins with where it is from, with its numbers in the filters."""
    first = (Field(row["name"], kind="stack"), Field(row["condition"]))
    own = filter_numbers(view, row["run"], row["stack"], row["condition"], row.get("workload", ""))
    return TableRow((*first, *fields), *own)


def filter_numbers(view: View, run: str, stack: str, condition: str, workload: str) -> tuple[int, int, int, int]:
    """The numbers of a stack, condition, workload and run in the filters."""
    at = view.places
    return at.stacks[stack], at.conditions[condition], at.workloads.get(workload, -1), at.labels[run]


def ratio_field(value: float | None) -> Field:
    """A ratio to `none`; empty where there is none."""
    return Field("" if value is None else units.ratio(value), value)
