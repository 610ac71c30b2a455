"""The exponents of growth: how each metric of each stack grows with the number of nodes."""

from tunbench.analysis.growth import Growth
from tunbench.report import units
from tunbench.report.growth_wording import decimals, named, of_runs
from tunbench.report.tables.table import Column, Field, Table, TableRow
from tunbench.report.view import View


def tables(view: View) -> list[Table]:
    """One row a stack, workload and metric of which several sizes were measured; no table where there are none."""
    found = of_runs(view)
    if not found:
        return []
    columns = (
        *(Column("stack"), Column("workload"), Column("metric"), Column("topology and profile")),
        *(Column("sizes"), Column("smallest", True), Column("largest", True)),
        *(Column("exponent", True), Column("low", True), Column("high", True), Column("note")),
    )
    caption = (
        "Exponents of the number of nodes: the median of slopes of the logarithms, with its 95 % interval. 0 is no "
        "growth, 1 in proportion, 2 as pairs of nodes do."
    )
    return [Table("growth", caption, columns, [_row(view, run, one) for run, one in found])]


def _row(view: View, run: str, one: Growth) -> TableRow:
    first, *_, last = one.sizes.values()
    fields = (
        *(Field(named(view, run, one)), Field(one.workload), Field(one.metric), Field(one.condition)),
        Field(", ".join(map(str, one.sizes))),
        *(Field(units.quantity(value, one.unit), value) for value in (first, last)),
        *(Field(decimals(value), value) for value in (one.exponent, one.low, one.high)),
        Field(one.why),
    )
    at = view.places
    # Its sizes are conditions of their own.
    return TableRow(fields, at.stacks[one.stack], -1, at.workloads.get(one.workload, -1), at.labels[run])
