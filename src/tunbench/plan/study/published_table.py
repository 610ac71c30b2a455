"""A table of a publication that is compared: how its rows become cells of the plan, and what its numbers stand for."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from tunbench.plan.study.cell import Cell, read_cell, read_stack_name
from tunbench.plan.toml.mistakes import MistakeAt, quoted
from tunbench.plan.toml.tables import Key, Known, alone, read_names, read_table, unknown_in
from tunbench.plan.toml.values import read_text
from tunbench.runner.declare import quantity
from tunbench.runner.declare.options import nearest

LARGEST_SCALE = 1e6
"""What is measured is scaled by so much at most, and by its reciprocal at least."""


@dataclass(frozen=True)
class PublishedTable:
    """How the rows of a published table become cells: `cell` is what all of them have, and `conditions` add to it.

    What is measured is `scaled_by` a factor before it stands beside what was published. `order_only` says why no number
    is predicted all the same. `link_rate` is what the test bed's link carried of what the table counts, by condition.
    """

    table: str
    metric: str
    statistic: str | None
    cell: Cell
    conditions: Mapping[str, Cell]
    systems: Mapping[str, str] | None
    link_rate: Mapping[str, float]
    scaled_by: float
    order_only: str | None


def read_published_table(value: object) -> PublishedTable:
    """A published table. Raises ValueError, MistakeAt and Mistakes."""
    table = PublishedTable(**read_table(value, TABLE_KEYS, TABLE_EXAMPLE, unknown_in("study.table", TABLE_KEYS)))
    for path, cell in (
        (("cell",), table.cell),
        *((("conditions", name), one) for name, one in table.conditions.items()),
    ):
        if "stack" in cell:
            raise MistakeAt("a table's stacks are its systems: take it away", *path, "stack")
        if "verdict" in cell:
            raise MistakeAt("a table has numbers of trials, and claims have verdicts: take it away", *path, "verdict")
    return table


def _read_link_rate(value: object, known: Known) -> dict[str, float]:
    """The rate of each condition. Raises ValueError, MistakeAt and Mistakes."""
    conditions = known.get("conditions", {})
    if not isinstance(value, dict):
        return dict.fromkeys(conditions, _read_rate(value))
    rates = read_names(value, _read_rate, LINK_RATE_EXAMPLE)
    if conditions and (unknown := next((name for name in rates if name not in conditions), None)) is not None:
        raise MistakeAt(f'the table has no condition "{unknown}"{nearest(unknown, list(conditions))}', unknown)
    if (lacking := next((name for name in conditions if name not in rates), None)) is not None:
        raise ValueError(f'it has no rate for "{lacking}": write one for each condition, or one for all')
    return rates


def _read_rate(value: object) -> float:
    if not isinstance(value, str):
        raise ValueError(f"{quoted(value)} is not a rate: write for example {LINK_RATE_EXAMPLE}")
    rate = quantity.rate(value)
    if rate <= 0:
        raise ValueError(f"{quoted(value)} is out of range: a link carries something")
    return rate


def _read_scale(value: object) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{quoted(value)} is not a number: write for example {SCALE_EXAMPLE}")
    if not 1 / LARGEST_SCALE <= value <= LARGEST_SCALE:
        raise ValueError(f"{quoted(value)} is out of range: allowed is {1 / LARGEST_SCALE:g} to {LARGEST_SCALE:g}")
    return float(value)


SYSTEMS_EXAMPLE = '[study.systems] and below it "No VPN" = "none"'
TABLE_EXAMPLE = '[[study.table]] and below it table = "throughput"'
CELL_OF_TABLE_EXAMPLE = 'cell = { metric = "throughput", profile = "lan" }'
CONDITIONS_EXAMPLE = 'conditions = { "1288 bytes" = { workload = "iperf2-tcp:mss=1288" } }'
LINK_RATE_EXAMPLE = 'link_rate = "941.5M"'
SCALE_EXAMPLE = "scaled_by = 64"

TABLE_KEYS = {
    "table": Key('table = "throughput"', alone(read_text)),
    "metric": Key('metric = "throughput"', alone(read_text)),
    "statistic": Key('statistic = "mean"', alone(read_text), lambda: None),
    "cell": Key(CELL_OF_TABLE_EXAMPLE, alone(read_cell)),
    "conditions": Key(CONDITIONS_EXAMPLE, lambda value, _: read_names(value, read_cell, SYSTEMS_EXAMPLE)),
    "systems": Key(
        'systems = { "No VPN" = "none" }',
        lambda value, _: read_names(value, read_stack_name, SYSTEMS_EXAMPLE),
        lambda: None,
    ),
    "link_rate": Key(LINK_RATE_EXAMPLE, _read_link_rate, dict),
    "scaled_by": Key(SCALE_EXAMPLE, alone(_read_scale), lambda: 1.0),
    "order_only": Key('order_only = "it was measured on another router"', alone(read_text), lambda: None),
}
