"""The published numbers of a study: a CSV file, read, checked against the study's tables, and in SI units."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from tunbench import plain_text
from tunbench.journal import files
from tunbench.journal.bounds import MAX_REFERENCE_BYTES, MAX_REFERENCE_MISTAKES, MAX_REFERENCE_ROWS
from tunbench.plan.load import Loaded, PlanError, reference_of
from tunbench.plan.study.calibration import Calibration, table_of
from tunbench.plan.study.grid import Grid, NoCell, grid, metric_of, resolve
from tunbench.plan.study.publication import Study
from tunbench.plan.study.published_table import PublishedTable
from tunbench.plan.toml import positions
from tunbench.plan.toml.mistakes import MistakeAt, quoted
from tunbench.plan.toml.values import legible
from tunbench.runner.declare.options import nearest

COLUMNS = ("table", "system", "condition", "metric", "statistic", "unit", "value", "source")
"""The columns of a reference: one row a published number, its value and unit as they were published."""

NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?(E[+-]?[0-9]{1,2})?", re.IGNORECASE)
"""A published number: in any unit it is finite, and so are ratios of it."""


class Unit(NamedTuple):
    """An SI unit as samples have it, and how much of it a published unit is."""

    si: str
    factor: float


UNITS = {
    "bit/s": Unit("bit/s", 1),
    "kbit/s": Unit("bit/s", 1e3),
    "Kbit/s": Unit("bit/s", 1e3),
    "Mbit/s": Unit("bit/s", 1e6),
    "Gbit/s": Unit("bit/s", 1e9),
    "B/s": Unit("bit/s", 8),
    "kB/s": Unit("bit/s", 8e3),
    "MB/s": Unit("bit/s", 8e6),
    "GB/s": Unit("bit/s", 8e9),
    "KiB/s": Unit("bit/s", 8 * 2**10),
    "MiB/s": Unit("bit/s", 8 * 2**20),
    "GiB/s": Unit("bit/s", 8 * 2**30),
    "ns": Unit("s", 1e-9),
    "us": Unit("s", 1e-6),
    "µs": Unit("s", 1e-6),
    "ms": Unit("s", 1e-3),
    "s": Unit("s", 1),
    "min": Unit("s", 60),
    "%": Unit("ratio", 0.01),
    "ratio": Unit("ratio", 1),
    "B": Unit("B", 1),
    "kB": Unit("B", 1e3),
    "MB": Unit("B", 1e6),
    "GB": Unit("B", 1e9),
    "KiB": Unit("B", 2**10),
    "MiB": Unit("B", 2**20),
    "GiB": Unit("B", 2**30),
    "count": Unit("count", 1),
    "packets": Unit("count", 1),
    "1/s": Unit("1/s", 1),
    "packets/s": Unit("1/s", 1),
    "transactions/s": Unit("1/s", 1),
    "°C": Unit("°C", 1),
    "J": Unit("J", 1),
    "MHz": Unit("Hz", 1e6),
    "GHz": Unit("Hz", 1e9),
}
"""The units of published numbers. Prefixes are decimal, those with an i binary (IEC 80000-13)."""


RATE = "bit/s"
"""The unit of what a link carries."""

CALIBRATION: positions.Path = ("study", "calibration")
"""Where a study says what calibrates its machine."""


class Published(NamedTuple):
    """One published number: its value in the SI unit `unit`, or None where it is illegible; `source` says where."""

    table: str
    system: str
    condition: str
    metric: str
    statistic: str
    unit: str
    value: float | None
    source: str


def read(loaded: Loaded) -> list[Published]:
    """The published numbers of a study, checked against its tables and their metrics. Raises PlanError."""
    study = loaded.study
    path = reference_of(loaded)
    if study is None or path is None:
        raise PlanError(f"{loaded.path}: this is no study: it has no table [study]")
    rows = published(path)
    lines = positions.lines(loaded.text)
    of, mistakes = grid(next(iter(loaded.plans.values()))), []
    for at, error in _mistakes(study, rows, of):
        line = plain_text.line(f"{positions.written(at)}: {error}")
        mistakes.append(f"{loaded.path}:{positions.line_of(at, lines)}: {line}")
    if mistakes:
        raise PlanError(_told(mistakes, loaded.path))
    return rows


def _mistakes(study: Study, rows: Sequence[Published], of: Grid) -> Iterator[tuple[positions.Path, MistakeAt]]:
    """What does not fit the published rows, and where in the study's file that is."""
    for number, table in enumerate(study.table):
        try:
            _check(study, table, rows, of)
            if study.calibration and number == table_of(study.calibration, study.table):
                calibrating(study.calibration, of_table(table, rows))
        except MistakeAt as error:
            of_calibration = error.at[: len(CALIBRATION)] == CALIBRATION
            yield error.at if of_calibration else ("study", "table", number, *error.at), error


def calibrating(calibration: Calibration, rows: Sequence[Published]) -> Published:
    """The number of a table's rows that calibrates a study's machine. Raises MistakeAt where it is none."""
    wanted = (calibration.system, calibration.condition)
    found = [row for row in rows if (row.system, row.condition) == wanted and (row.value or 0) > 0]
    if not found:
        named = f'"{calibration.system}" under "{calibration.condition}"'
        raise MistakeAt(f"the reference has no number of {named} above 0: calibrate by another one", *CALIBRATION)
    return found[0]


def numbers_of_tables(loaded: Loaded) -> list[Published]:
    """What the tables of a plan are compared with: nothing where it has none. Raises PlanError."""
    return read(loaded) if loaded.study and loaded.study.table else []


def published(path: Path) -> list[Published]:
    """All rows of a reference, in its order. Raises PlanError, with one line for each mistake."""
    rows: list[Published] = []
    mistakes: list[str] = []
    seen: set[tuple[str, ...]] = set()
    for number, (line, fields) in enumerate(_lines(path), start=1):
        if number > MAX_REFERENCE_ROWS:
            raise PlanError(
                f"{path}:{line}: up to here there are more than {MAX_REFERENCE_ROWS} rows: leave some of them away"
            )
        try:
            row = _row(fields)
            if row[:5] in seen:
                raise ValueError("another row has this table, system, condition, metric and statistic")
            seen.add(row[:5])
            rows.append(row)
        except ValueError as error:
            mistakes.append(f"{path}:{line}: {plain_text.line(str(error))}")
        if len(mistakes) > MAX_REFERENCE_MISTAKES:
            break
    if mistakes:
        raise PlanError(_told(mistakes, path))
    return rows


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The fields of each row below the columns, and the line in which it begins. Raises PlanError."""
    try:
        text = files.text(path, MAX_REFERENCE_BYTES).removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
    except OSError as error:
        raise PlanError(f"{path}: cannot be read: {error.strerror}") from None
    reader, line = csv.reader(StringIO(text, newline=""), strict=True), 1
    try:
        columns = next(reader, [])
        if tuple(columns) != COLUMNS:
            raise PlanError(
                f"{path}:1: the columns are {plain_text.line(','.join(columns))}: write {','.join(COLUMNS)}"
            )
        line = reader.line_num + 1
        for fields in reader:
            yield line, fields
            line = reader.line_num + 1
    except csv.Error as error:
        raise PlanError(f"{path}:{line}: this is no CSV file that can be read: {error}") from None


def _told(mistakes: Sequence[str], path: Path) -> str:
    """The first mistakes, and whether there are more in the file."""
    more = [f"{path}: and more mistakes"] if len(mistakes) > MAX_REFERENCE_MISTAKES else []
    return "\n".join([*mistakes[:MAX_REFERENCE_MISTAKES], *more])


def of_table(table: PublishedTable, rows: Sequence[Published]) -> list[Published]:
    """The rows that a study's table is about. Raises MistakeAt where there are none, or of several statistics."""
    for key in ("table", "metric", "statistic"):
        wanted, there = getattr(table, key), list(dict.fromkeys(getattr(row, key) for row in rows))
        if wanted is None and len(there) > 1:
            raise MistakeAt(f"the reference has several statistics of it: name one of {', '.join(there)}")
        if wanted is not None and wanted not in there:
            raise MistakeAt(f'the reference has no {key} "{wanted}"{nearest(wanted, there)}', key)
        rows = [row for row in rows if wanted in (None, getattr(row, key))]
    return list(rows)


def _row(there: Sequence[str]) -> Published:
    if len(there) > len(COLUMNS):
        raise ValueError(
            f"there are {len(there)} fields, and {len(COLUMNS)} columns: write a text with commas in quotes"
        )
    fields = {name: _legible(text) for name, text in zip_longest(COLUMNS, there, fillvalue="")}
    for name in COLUMNS:
        if not fields[name] and name not in ("value", "condition"):
            raise ValueError(f"the column {name} is empty")
    if fields["unit"] not in UNITS:
        raise ValueError(f'unknown unit "{fields["unit"]}"{nearest(fields["unit"], UNITS)}')
    unit = UNITS[fields["unit"]]
    value = _si(fields["value"], unit) if fields["value"] else None
    table, system, condition, metric, statistic = (fields[name] for name in COLUMNS[:5])
    return Published(table, system, condition, metric, statistic, unit.si, value, fields["source"])


def _legible(text: str) -> str:
    if "\n" in text.strip():
        raise ValueError(f"{quoted(text.strip())} has more than one line: write it in one")
    return legible(text.strip())


def _si(text: str, unit: Unit) -> float:
    if not NUMBER.fullmatch(text):
        raise ValueError(f'"{text}" is not a number: write a decimal point and no separators')
    value = float(text)
    # Division where it is exact: 12.3 ms are 12.3 / 1000 s and not 12.3 × 0.001 s.
    return value / round(1 / unit.factor) if unit.factor < 1 else value * unit.factor


def _check(study: Study, table: PublishedTable, rows: Sequence[Published], of: Grid) -> None:
    """Raises MistakeAt where a table does not fit its published rows."""
    mine, systems = of_table(table, rows), study.systems_of(table)
    there = list(dict.fromkeys(row.condition for row in mine))
    for condition in table.conditions:
        if condition not in there:
            unknown = f'the reference has no condition "{condition}" of it{nearest(condition, there)}'
            raise MistakeAt(unknown, "conditions", condition)
    known = {**systems, **study.missing}
    for name in dict.fromkeys(row.system for row in mine):
        if name not in known:
            raise MistakeAt(
                f'the published system "{name}" is neither in the systems nor in [study.missing]'
                f"{nearest(name, known) if known else ''}"
            )
    _units_fit(table, systems, mine, of)


def _units_fit(table: PublishedTable, systems: Mapping[str, str], rows: Sequence[Published], of: Grid) -> None:
    for row in rows:
        if row.condition in table.conditions and row.system in systems:
            cell = {**table.cell, **table.conditions[row.condition], "stack": systems[row.system]}
            try:
                resolved = resolve(cell, of)
            except NoCell:
                continue
            if (unit := metric_of(resolved, of).unit) != row.unit:
                raise MistakeAt(f"it is published in {row.unit}, and {resolved['metric']} is in {unit}", "metric")
            if table.link_rate and row.unit != RATE:
                raise MistakeAt(
                    f"it is published in {row.unit}, and no link has a rate in it: take it away", "link_rate"
                )
