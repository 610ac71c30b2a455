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
    low, high = (f"{bound:.2f}".replace("-", units.MINUS) for bound in (one.low, one.high))
    return f"n^{one.exponent:.2f} [{low}, {high}]".replace("-", units.MINUS)


def _row(one: Growth) -> TableRow:
    first, *_, last = one.sizes.values()
    numbers = ((one.exponent, "{:.2f}"), (one.low, "{:.2f}"), (one.high, "{:.2f}"))
    return TableRow(
        (
            *(Field(one.stack), Field(one.workload), Field(one.metric), Field(one.condition)),
            Field(", ".join(map(str, one.sizes))),
            *(Field(units.quantity(value, one.unit), value) for value in (first, last)),
            *(Field("" if value is None else form.format(value), value) for value, form in numbers),
            Field(one.why),
        )
    )
