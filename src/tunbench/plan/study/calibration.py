"""What calibrates the machine of a study: the one published number that its speed was chosen by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tunbench.plan.study.published_table import PublishedTable
from tunbench.plan.toml.mistakes import MistakeAt
from tunbench.plan.toml.tables import Key, alone, read_table, unknown_in
from tunbench.plan.toml.values import read_text
from tunbench.runner.declare.options import nearest

COLUMNS = ("table", "metric", "statistic")
"""What tells one compared table from another."""


@dataclass(frozen=True)
class Calibration:
    """The published number that the speed of `machine` was chosen by: that of a system under a condition of a table.

    `why` says why it is this one, and what the speed that it led to stands for.
    """

    table: str
    metric: str | None
    statistic: str | None
    system: str
    condition: str
    machine: str
    why: str


def read_calibration(value: object) -> Calibration:
    """The calibration of a study. Raises ValueError and Mistakes."""
    unknown = unknown_in("study.calibration", CALIBRATION_KEYS)
    return Calibration(**read_table(value, CALIBRATION_KEYS, CALIBRATION_EXAMPLE, unknown))


def table_of(calibration: Calibration, tables: Sequence[PublishedTable]) -> int:
    """Which of a study's tables has the number. Raises MistakeAt where none has, or several may."""
    found = list(range(len(tables)))
    for column in COLUMNS:
        wanted, there = getattr(calibration, column), [getattr(tables[one], column) for one in found]
        if wanted is not None and wanted not in there:
            known = list(dict.fromkeys(one for one in there if one is not None))
            raise MistakeAt(f'the study compares no {column} "{wanted}"{nearest(wanted, known)}', column)
        found = [one for one in found if wanted in (None, getattr(tables[one], column))]
    if len(found) > 1:
        several = "; ".join(" ".join(filter(None, (tables[one].metric, tables[one].statistic))) for one in found)
        raise MistakeAt(f'the study compares several tables "{calibration.table}": name metric or statistic: {several}')
    return found[0]


def check_calibration(calibration: Calibration, tables: Sequence[PublishedTable], systems: Mapping[str, str]) -> None:
    """Raises MistakeAt where a study, whose tables have these systems unless they say otherwise, has no such number."""
    table = tables[table_of(calibration, tables)]
    known = {"system": systems if table.systems is None else table.systems, "condition": table.conditions}
    for key, names in known.items():
        if (wanted := getattr(calibration, key)) not in names:
            raise MistakeAt(f'the table "{table.table}" has no {key} "{wanted}"{nearest(wanted, list(names))}', key)
    if table.order_only:
        raise MistakeAt(f'the table "{table.table}" has order_only: calibrate by a number of another one', "table")


CALIBRATION_EXAMPLE = '[study.calibration] and below it table = "throughput"'

CALIBRATION_KEYS = {
    "table": Key('table = "throughput"', alone(read_text)),
    "metric": Key('metric = "throughput"', alone(read_text), lambda: None),
    "statistic": Key('statistic = "mean"', alone(read_text), lambda: None),
    "system": Key('system = "No VPN"', alone(read_text)),
    "condition": Key('condition = "88 bytes"', alone(read_text)),
    "machine": Key('machine = "wr841n"', alone(read_text)),
    "why": Key('why = "the processor alone is the limit"', alone(read_text)),
}
