"""The tables of a report: rows of texts with the numbers behind them, for a page, a spreadsheet or a paper."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from tunbench.analysis.bootstrap import spread, variation
from tunbench.analysis.cells import METRIC
from tunbench.analysis.frame import CELL
from tunbench.analysis.metrics import spelled
from tunbench.analysis.statistics import FEWEST, RANGE
from tunbench.journal.record import TrialResult
from tunbench.report import units
from tunbench.report.view import View

VARIED = 2000
"""Rows up to which coefficients of variation have an interval: each takes about 2 ms."""

NAMED = 1_000_000
"""Characters of the names of a manifest's facts, each with those of the tables around it; a run's own have some 10,000.
"""

LONGEST = 240
"""Characters of a command that a chart tells."""


class Column(NamedTuple):
    """A column: its heading, whether it holds numbers and in which SI unit, and its condition's number, or −1.

    Without a unit, its numbers are ratios or counts, or the column `unit` names that of each row.
    """

    heading: str
    number: bool = False
    unit: str = ""
    condition: int = -1


class Field(NamedTuple):
    """A field: its text, the number behind it in an SI unit, how full it is drawn (0 to 1), and its style.

    `why` says why there is no number.
    """

    text: str
    key: float | None = None
    heat: float | None = None
    kind: str = ""
    why: str = ""


class Row(NamedTuple):
    """A row, with its numbers in the filters; −1 where it belongs to several."""

    fields: tuple[Field, ...]
    stack: int = -1
    condition: int = -1
    workload: int = -1
    run: int = 0


class Table(NamedTuple):
    """A table with what it says of itself."""

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: list[Row]


class Execution(NamedTuple):
    """A trial as the report links to it: its repeat, its verdict, the address of its commands, what disturbed it."""

    repeat: int
    verdict: str
    href: str
    noisy: str = ""


class Executions(NamedTuple):
    """The trials of one cell, and the row's numbers in the filters."""

    stack: str
    condition: str
    workload: str
    run: str
    trials: list[Execution]
    row: Row


def everything(view: View) -> Table:
    """Every cell and metric: median, interval, ratio to `none`, and coefficient of variation."""
    columns = (
        *place_columns(view),
        *(Column("workload"), Column("metric"), Column("unit"), Column("n", True), Column("median", True)),
        *(Column("low", True), Column("high", True), Column("kind"), Column("÷ none", True)),
        *(Column("ratio low", True), Column("ratio high", True)),
        *(Column("CV", True), Column("CV low", True), Column("CV high", True)),
    )
    caption = (
        "One row a cell and metric: the median over n trials, and its interval. What a workload has as a series is "
        "first reduced to each trial’s median, p95 or p99. The ratio is to none, and is empty where none has no trial "
        "of the same seed that is ok, or is 0. CV is the coefficient of variation "
        f"between trials; it has its BCa interval where there are at least {FEWEST} of them, and at most {VARIED} rows."
    )
    varied = _varied(view)
    rows = [
        place(
            view, row, (*_measured(view, row), *(ratio(value) for value in varied.get(_key(row), (None, None, None))))
        )
        for row in view.cells.iter_rows(named=True)
    ]
    return Table("measured", caption, columns, rows)


def costs(view: View) -> Table:
    """What a byte and a packet cost in every cell, and their excess over `none`."""
    columns = (
        *place_columns(view),
        *(Column("workload"), Column("a byte", True, "s/B"), Column("low", True, "s/B"), Column("high", True, "s/B")),
        *(Column("excess", True, "s/B"), Column("excess low", True, "s/B"), Column("excess high", True, "s/B")),
        *(Column("÷ none", True), Column("a packet", True, "s"), Column("its excess", True, "s")),
    )
    caption = (
        "One row a cell: medians over its trials, with their intervals, or ranges where there are fewer than six. A "
        "packet is what the overlay’s interface counts as one: up to 64 KiB where the kernel hands on several at once "
        "(GSO). A workload that carries little, such as ping, has its own programs in the cost of a byte above all."
    )
    found: dict[tuple[str, ...], dict[str, Mapping[str, Any]]] = {}
    for row in view.costs.iter_rows(named=True):
        key = tuple(row[name] for name in ("run", "condition", "workload", "stack", "pair"))
        found.setdefault(key, {})[row["metric"]] = row
    at = view.places
    order = sorted(found, key=lambda key: (at.conditions[key[1]], at.workloads[key[2]]))
    rows = [place(view, found[key]["cost"], _cost(found[key])) for key in order if "cost" in found[key]]
    return Table("costs", caption, columns, rows)


def executions(view: View) -> list[Executions]:
    """Every cell with its trials, in the order of conditions and stacks, repeats rising."""
    at = view.places
    there = [key for key in view.trials if key[3] in at.workloads and key[1] in at.stacks]
    order = sorted(there, key=lambda key: (at.conditions[key[2]], at.stacks[key[1]], at.workloads[key[3]]))
    return [
        Executions(
            stack,
            condition,
            workload,
            run,
            [
                Execution(trial.cell["repeat"], trial.verdict, commands(trial, base), trial.noisy)
                for trial, base in view.trials[run, stack, condition, workload]
            ],
            Row((), *numbers(view, run, stack, condition, workload)),
        )
        for run, stack, condition, workload in order
    ]


def facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The manifest as names and values, one row a leaf, up to NAMED; long lists of packages are left to `packages`."""
    found: list[tuple[str, str]] = []
    left = NAMED
    for name, text in _leaves(manifest):
        left -= len(name)
        if left < 0:
            return [*found, ("…", "the names of the others are too long to be shown")]
        if not name.startswith("image.packages."):
            found.append((name, text))
    return found


def packages(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The packages of the image with their versions, sorted."""
    image = manifest.get("image")
    listed = image.get("packages") if isinstance(image, dict) else None
    return sorted((str(name), str(version)) for name, version in listed.items()) if isinstance(listed, dict) else []


def commands(trial: TrialResult, base: str = ".") -> str:
    """The address of a trial's commands, from the page by `base`; whatever stands in it, it is a relative path."""
    way = "/".join(part for part in (base, trial.folder.strip("/"), "commands.sh") if part not in ("", "."))
    return "./" + quote(way, safe="/")


def shortened(command: str) -> str:
    """A command in one line of bearable length."""
    line = " ".join(command.split())
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def place_columns(view: View) -> tuple[Column, ...]:
    """The first columns of every table: where a row is from."""
    return Column("stack"), Column("profile")


def place(view: View, row: Mapping[str, Any], fields: Sequence[Field]) -> Row:
    """A row that begins with where it is from, with its numbers in the filters."""
    first = (Field(row["name"], kind="stack"), Field(row["condition"]))
    own = numbers(view, row["run"], row["stack"], row["condition"], row.get("workload", ""))
    return Row((*first, *fields), *own)


def numbers(view: View, run: str, stack: str, condition: str, workload: str) -> tuple[int, int, int, int]:
    """The numbers of a stack, condition, workload and run in the filters."""
    at = view.places
    return at.stacks[stack], at.conditions[condition], at.workloads.get(workload, -1), at.labels[run]


def _measured(view: View, row: Mapping[str, Any]) -> tuple[Field, ...]:
    shown = units.scale(row["median"], row["unit"])
    low, high = (Field(units.shown(row[name], row["unit"], shown), row[name]) for name in ("low", "high"))
    noisy = view.noisy(row["run"], row["stack"], row["condition"], row["workload"])
    kind = row["kind"] if row["kind"] != RANGE else f"{row['kind']} ({100 * row['coverage']:.0f}{units.NBSP}%)"
    return (
        Field(row["workload"], kind="stack workload"),
        Field(spelled(row["metric"], row["statistic"]), kind="metric"),
        Field(row["unit"], kind="quiet"),
        Field(f"{row['n']}, {noisy} noisy" if noisy else str(row["n"]), row["n"]),
        Field(units.quantity(row["median"], row["unit"]), row["median"]),
        low,
        high,
        Field(kind, kind="quiet"),
        *(ratio(row[f"ratio_{name}"]) for name in ("median", "low", "high")),
    )


def _varied(view: View) -> dict[tuple[str, ...], tuple[float | None, float | None, float | None]]:
    """The coefficient of variation of each cell and metric with its interval, which is None where it has none."""
    columns = ("run", *CELL, *METRIC)
    groups = view.values.group_by(columns).agg("value")
    few = len(groups) <= VARIED
    found: dict[tuple[str, ...], tuple[float | None, float | None, float | None]] = {}
    for *key, values in groups.iter_rows():
        interval = few and len(values) >= FEWEST
        one = variation(values) if interval else None
        found[tuple(key)] = (one.value, one.low, one.high) if one else (spread(values), None, None)
    return found


def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("run", *CELL, *METRIC))


def ratio(value: float | None) -> Field:
    """A ratio to `none`; empty where there is none."""
    return Field("" if value is None else units.ratio(value), value)


def _cost(rows: Mapping[str, Mapping[str, Any]]) -> tuple[Field, ...]:
    byte, packet = rows["cost"], rows.get("cost-packet", {})
    shown = units.scale(byte["median"], byte["unit"])
    excess = units.scale(byte["excess_median"] or 0, byte["unit"])
    return (
        Field(byte["workload"], kind="stack workload"),
        _quantity(byte, "median"),
        *(Field(units.shown(byte[name], byte["unit"], shown), byte[name]) for name in ("low", "high")),
        _quantity(byte, "excess_median"),
        *(
            Field("" if byte[name] is None else units.shown(byte[name], byte["unit"], excess), byte[name])
            for name in ("excess_low", "excess_high")
        ),
        ratio(byte["ratio_median"]),
        _quantity(packet, "median"),
        _quantity(packet, "excess_median"),
    )


def _quantity(row: Mapping[str, Any], column: str) -> Field:
    value = row.get(column)
    return Field(units.quantity(value, row.get("unit", "")), value)


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple) and name == "command":
        yield name, shlex.join(str(word) for word in value)
    elif isinstance(value, list | tuple):
        yield name, ", ".join(_flat(one) for one in value) or units.NOTHING
    else:
        yield name, units.NOTHING if value is None or value == {} else str(value)


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_flat(inner)}" for key, inner in value.items()) + "}"
    return str(value)
