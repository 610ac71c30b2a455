"""The exponents of growth: how each metric of each stack grows with the number of nodes."""

from tunbench.analysis.growth import Growth, growths
from tunbench.report import units
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
    return [Table("growth", caption, columns, [_row(one) for _, one in found])]


def of_runs(view: View) -> list[tuple[str, Growth]]:
    """What grows in each run, with the run's label."""
    labels = view.labels if view.several else ("",) * len(view.runs)
    return [(label, one) for label, run in zip(labels, view.runs, strict=True) for one in growths(run.values)]


def exponent(one: Growth) -> str:
    """The exponent with its interval, such as `n^1.02 [0.98, 1.07]`, or that there is none."""
    if one.exponent is None or one.low is None or one.high is None:
        return "no exponent"
    middle, low, high = (_decimals(value) for value in (one.exponent, one.low, one.high))
    return f"n^{middle} [{low}, {high}]"


def _decimals(value: float | None) -> str:
    """A number with two decimals; what rounds to nothing has no sign."""
    return "" if value is None else f"{round(value, 2) + 0.0:.2f}".replace("-", units.MINUS)


def _row(one: Growth) -> TableRow:
    first, *_, last = one.sizes.values()
    return TableRow(
        (
            *(Field(one.stack), Field(one.workload), Field(one.metric), Field(one.condition)),
            Field(", ".join(map(str, one.sizes))),
            *(Field(units.quantity(value, one.unit), value) for value in (first, last)),
            *(Field(_decimals(value), value) for value in (one.exponent, one.low, one.high)),
            Field(one.why),
        )
    )
