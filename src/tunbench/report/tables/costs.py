"""The table of costs: what a byte and a packet take of the machine, and their excess over `none`."""

from collections.abc import Mapping
from typing import Any

from tunbench.report import units
from tunbench.report.tables.table import PLACE_COLUMNS, Column, Field, Table, placed, ratio_field
from tunbench.report.view import View


def table(view: View) -> Table:
    """What a byte and a packet cost in every cell, and their excess over `none`."""
    columns = (
        *PLACE_COLUMNS,
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
    rows = [placed(view, found[key]["cost"], _cost(found[key])) for key in order if "cost" in found[key]]
    return Table("costs", caption, columns, rows)


def _cost(rows: Mapping[str, Mapping[str, Any]]) -> tuple[Field, ...]:
    byte, packet = rows["cost"], rows.get("cost-packet", {})
    shown = units.scale(byte["median"], byte["unit"])
    excess = units.scale(byte["excess_median"] or 0, byte["unit"])
    return (
        Field(byte["workload"], kind="stack workload"),
        _quantity(byte, "median"),
        *(Field(units.in_scale(byte[name], byte["unit"], shown), byte[name]) for name in ("low", "high")),
        _quantity(byte, "excess_median"),
        *(
            Field("" if byte[name] is None else units.in_scale(byte[name], byte["unit"], excess), byte[name])
            for name in ("excess_low", "excess_high")
        ),
        ratio_field(byte["ratio_median"]),
        _quantity(packet, "median"),
        _quantity(packet, "excess_median"),
    )


def _quantity(row: Mapping[str, Any], column: str) -> Field:
    value = row.get(column)
    return Field(units.quantity(value, row.get("unit", "")), value)
