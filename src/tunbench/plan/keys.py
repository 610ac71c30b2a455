"""The keys of a plan, each with its reader: what makes a plan of the tables of its file."""

import re
from collections.abc import Mapping
from typing import Any

from tunbench.plan import consistency, cut
from tunbench.plan.axes.reader import key_of, reader_of
from tunbench.plan.model import (
    CLOCKS,
    DEFAULT_LAB_KIND,
    LAB_CLOCKS,
    LAB_KINDS,
    LATER_LAB_KINDS,
    LabChoice,
    Plan,
    clocks_of,
)
from tunbench.plan.toml.bounds import MAX_REPEATS, MAX_SEED
from tunbench.plan.toml.mistakes import MistakeAt, quoted
from tunbench.plan.toml.tables import Key, alone, read_table
from tunbench.plan.toml.values import matching, one_of, whole_number
from tunbench.plan.until import EXAMPLE as UNTIL_EXAMPLE
from tunbench.plan.until import read_until
from tunbench.runner import registry
from tunbench.runner.declare.axes import AXES
from tunbench.runner.declare.options import nearest

PLAN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""It becomes part of a folder's name."""

BESIDE_A_PLAN = ("study", "claim", "scale")
"""The keys of a plan's file that are none of the plan."""


def read_plan(data: Mapping[str, Any]) -> Plan:
    """The plan that tables say. Raises Mistakes, and MistakeAt and ValueError where keys do not fit together."""
    found = read_table(data, KEYS, EXAMPLE, _unknown)
    values = {axis.name: reader_of(axis).completed(found.pop(axis.key)) for axis in AXES}
    plan = Plan(values=values, **found)
    consistency.check(plan)
    return plan


def read_lab(value: object) -> LabChoice:
    """The lab and clock of a table. Raises ValueError, Mistakes and MistakeAt."""
    found = read_table(value, LAB_KEYS, LAB_EXAMPLE, _unknown_in_lab)
    kind, clock = found["kind"], found["clock"]
    usual, *others = clocks_of(kind)
    if clock and clock not in (usual, *others):
        having = " or ".join(other for other, clocks in LAB_CLOCKS.items() if clock in clocks)
        mend = f'write "{usual}", or take the {having} lab'
        raise MistakeAt(f"the {kind} lab has the {usual} clock only: {mend}", "clock")
    return LabChoice(kind, clock or usual)


def read_probes(value: object) -> list[str]:
    """The names of probes, sorted. Raises ValueError; MistakeAt where it is in one of them."""
    if not isinstance(value, list):
        raise ValueError(f"{quoted(value)} is not a list: write for example {PROBES_EXAMPLE}")
    for number, name in enumerate(value):
        if name not in registry.probe_names():
            raise MistakeAt(f"unknown probe {quoted(name)}{nearest(str(name), registry.probe_names())}", number)
        if name in value[:number]:
            raise MistakeAt(f'"{name}" is listed twice: take one of them away', number)
    return sorted(value)


def _unknown(key: str) -> str:
    return f'unknown key "{key}"{nearest(key, [*KEYS, *BESIDE_A_PLAN])}'


def _unknown_in_lab(key: str) -> str:
    if key in KEYS:
        return f'"{key}" stands in the table [lab]: move it above the line [lab]'
    return f'unknown key "{key}" in [lab]{nearest(key, list(LAB_KEYS))}'


NAME_EXAMPLE, SEED_EXAMPLE, REPEATS_EXAMPLE = 'name = "my-plan"', "seed = 1", "repeats = 10"
PROBES_EXAMPLE = 'probes = ["cost"]'
CUT_EXAMPLE = f"exclude = [{cut.EXAMPLE}]"
LAB_EXAMPLE = '[lab] and below it kind = "vm"'
EXAMPLE = f"{NAME_EXAMPLE} and what else there is"

LAB_KEYS = {
    "kind": Key('kind = "vm"', alone(one_of("lab", LAB_KINDS, LATER_LAB_KINDS)), lambda: DEFAULT_LAB_KIND),
    "clock": Key('clock = "virtual"', alone(one_of("clock", CLOCKS)), str),
}

NOT_A_NAME = f"not a name: write letters, digits, . _ and -, such as {NAME_EXAMPLE}"

KEYS: dict[str, Key] = {
    "name": Key(NAME_EXAMPLE, alone(matching(PLAN_NAME, NOT_A_NAME))),
    "seed": Key(SEED_EXAMPLE, alone(whole_number(SEED_EXAMPLE, 0, MAX_SEED)), lambda: 1),
    "repeats": Key(REPEATS_EXAMPLE, alone(whole_number(REPEATS_EXAMPLE, 1, MAX_REPEATS)), lambda: 1),
    **{axis.key: key_of(axis) for axis in AXES},
    "include": Key(CUT_EXAMPLE, alone(cut.read_patterns), list),
    "exclude": Key(CUT_EXAMPLE, alone(cut.read_patterns), list),
    "probes": Key(PROBES_EXAMPLE, alone(read_probes), lambda: None),
    # Behind the repeats, the workloads and the probes: it must fit them.
    "until": Key(UNTIL_EXAMPLE, read_until, lambda: None),
    "lab": Key(LAB_EXAMPLE, alone(read_lab), LabChoice),
}
"""The keys of a plan, in the order in which they are read."""
