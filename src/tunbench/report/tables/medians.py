"""The medians of all metrics that answer a question, a row a stack and condition."""

import polars as pl

from tunbench.analysis import metrics
from tunbench.analysis.cells import CENTRAL
from tunbench.report import questions, units
from tunbench.report.tables.heat import max_rows, shortened
from tunbench.report.tables.table import PLACE_COLUMNS, Column, Field, Table, placed
from tunbench.report.view import View
from tunbench.runner.declare.metrics import Question


def table(view: View, key: Question) -> Table:
    """What answers a question, a row a stack and condition and a column a metric of a workload: medians."""
    kept = view.cells.filter(pl.col("statistic").is_in(CENTRAL))
    unit_of = dict(kept.select("metric", "unit").unique().iter_rows())
    kept = kept.filter(pl.col("metric").is_in([one for one in unit_of if questions.question(one, unit_of[one]) == key]))
    pairs = kept.select("workload", "metric").unique(maintain_order=True).rows()
    pairs = sorted(pairs, key=lambda pair: (view.places.workloads[pair[0]], metrics.rank(*pair)))
    index = {pair: number for number, pair in enumerate(pairs)}
    most = max_rows(len(pairs) + 2)
    found: dict[tuple[str, str, str, str], list[Field]] = {}
    for row in kept.iter_rows(named=True):
        place = (row["run"], row["stack"], row["name"], row["condition"])
        if place not in found and len(found) == most:
            continue
        fields = found.setdefault(place, [Field(units.NOTHING)] * len(pairs))
        fields[index[row["workload"], row["metric"]]] = Field(units.quantity(row["median"], row["unit"]), row["median"])
    rows = [
        placed(view, dict(zip(("run", "stack", "name", "condition"), place, strict=True)), tuple(fields))
        for place, fields in found.items()
    ]
    columns = [
        Column(f"{metric}, {workload}" if workload != metric else metric, True, unit_of[metric])
        for workload, metric in pairs
    ]
    caption = f"Medians over all trials.{shortened(most) if len(rows) == most else ''}"
    return Table(f"{key}-table", caption, (*PLACE_COLUMNS, *columns), rows)
