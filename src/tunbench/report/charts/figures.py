"""The charts of a report, by the question that each answers."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from tunbench.analysis import metrics
from tunbench.analysis.cells import CENTRAL
from tunbench.analysis.ratios import is_baseline, underlay
from tunbench.report import questions, units
from tunbench.report.charts import canvas, palette, strips
from tunbench.report.charts.canvas import Mark
from tunbench.report.charts.strips import Box, Strip
from tunbench.report.tables import tables
from tunbench.report.view import View

PERCENTILES = {"p5": 0.05, "p25": 0.25, "p75": 0.75, "p95": 0.95, "p99": 0.99}

MOST = 5000
"""Rows of all charts of a page: what answers no question at first hand is left to tables and exports beyond that."""

OPEN = 3
"""Workloads of a question whose charts are unfolded."""


class Panel(NamedTuple):
    """One chart of a figure: its heading, its condition's number in the filters (−1: none), and the chart as SVG."""

    heading: str
    condition: int
    svg: str


class Figure(NamedTuple):
    """Charts that belong together. `workload` is its number in the filters, −1 where there are several.

    It is `main` where it answers its question, and else bears on it.
    """

    id: str
    question: str
    heading: str
    about: str
    note: str
    workload: int
    panels: list[Panel]
    unfolded: bool
    main: bool = True


def marks(view: View) -> dict[tuple[str, str], Mark]:
    """How each stack of each run is drawn."""
    tunnels = {stack: index for index, stack in enumerate(one for one in view.stacks if not is_baseline(one))}
    found = {}
    for number, stack in enumerate(view.stacks):
        index = tunnels.get(stack, 0)
        colour = palette.series(index) if stack in tunnels else palette.BARE
        shape = index // len(palette.SERIES) if stack in tunnels else int(underlay(stack) == "ethernet")
        for run, label in enumerate(view.labels):
            found[label, stack] = Mark(colour, (shape + run) % len(canvas.SHAPES), number, run)
    return found


def all_strips(view: View, whole: bool = False) -> tuple[list[Figure], list[str]]:
    """A figure for each metric of each workload, those first that questions are about; and what is left out.

    Unless the `whole` is asked for, that is what questions are not about, where all charts have more than MOST rows.
    """
    cells = view.cells.filter(pl.col("statistic").is_in(CENTRAL))
    keys = ["workload", "metric", "condition"]
    rows = _grouped(cells, keys)
    values, boxes, drawn, costly = _values(view), _boxes(view), marks(view), set(view.measuring("throughput"))
    found: list[Figure] = []
    left, count = [], 0
    for workload, metric in _order(view, cells):
        charts: list[tuple[str, list[Strip], str]] = []
        for condition in view.conditions:
            here = rows.get((workload, metric, condition), [])
            if here:
                charts.append((condition, _strips(view, here, values, boxes, drawn), here[0]["unit"]))
        count += sum(len(here) for _, here, _ in charts)
        main = _is_main(workload, metric, costly)
        if not whole and count > MOST and not main:
            left.append(f"{metric} of {workload}")
            continue
        found.append(_figure(view, workload, metric, charts, len(found), main))
    return _unfolded(found), left


def _figure(
    view: View, workload: str, metric: str, charts: Sequence[tuple[str, list[Strip], str]], number: int, main: bool
) -> Figure:
    unit = charts[0][2]
    panels = [
        Panel(
            condition,
            view.conditions.index(condition),
            strips.draw(rows, unit, metric, f"strip-{number}-{index}", f"{metric} of {workload}, {condition}"),
        )
        for index, (condition, rows, _) in enumerate(charts)
    ]
    declared = metrics.about(workload, metric)
    better = "More is better." if declared and declared.more_is_better else ""
    summary = f"{declared.summary[:1].upper()}{declared.summary[1:]}." if declared else ""
    return Figure(
        f"figure-{number}",
        questions.question(metric, unit),
        metric,
        workload,
        f"{summary} {better}".strip(),
        view.workloads.index(workload),
        panels,
        unfolded=main,
        main=main,
    )


def _unfolded(found: Sequence[Figure]) -> list[Figure]:
    """The figures, of which the main ones of the first workloads alone are unfolded."""
    counted: dict[tuple[str, str], int] = {}
    made = []
    for one in found:
        key = (one.question, one.heading)
        counted[key] = counted.get(key, 0) + one.unfolded
        made.append(one._replace(unfolded=one.unfolded and counted[key] <= OPEN))
    return made


def _is_main(workload: str, metric: str, costly: Collection[str]) -> bool:
    """Whether this answers a question. The cost of a byte does where a workload is there to carry bytes."""
    return questions.is_main(metric) and (metric != "cost" or workload in costly)


def _order(view: View, cells: pl.DataFrame) -> list[tuple[str, str]]:
    """Every workload and metric, in the order in which they are shown."""
    there = cells.select("workload", "metric", "unit").unique(maintain_order=True).rows()
    costly = set(view.measuring("throughput"))
    ranks = questions.ranks([(workload, metric) for workload, metric, _ in there], view.workloads)
    keys = list(questions.HEADINGS)

    def key(row: tuple[str, str, str]) -> tuple[Any, ...]:
        workload, metric, unit = row
        main = _is_main(workload, metric, costly)
        return (
            not main,
            keys.index(questions.question(metric, unit)),
            ranks[metric],
            view.workloads.index(workload),
        )

    return [(workload, metric) for workload, metric, _ in sorted(there, key=key)]


def _strips(
    view: View,
    rows: Sequence[Mapping[str, Any]],
    values: Mapping[tuple[str, ...], list[float]],
    boxes: Mapping[tuple[str, ...], tuple[Any, ...]],
    drawn: Mapping[tuple[str, str], Mark],
) -> list[Strip]:
    bare = {
        (row["run"], underlay(row["stack"]), row["pair"], row["node"]): row["median"]
        for row in rows
        if is_baseline(row["stack"])
    }
    made = []
    for row in rows:
        key = tuple(row[name] for name in KEY)
        box = boxes.get(key) if row["statistic"] == "median" else None
        trials = values.get(key, [])
        few = box is None or box[1] <= strips.FEW
        base = bare.get((row["run"], underlay(row["stack"]), row["pair"], row["node"]))
        made.append(
            Strip(
                row["name"],
                drawn[row["run"], row["stack"]],
                row["median"],
                row["low"],
                row["high"],
                (box[2] if box else trials) if few else (),
                told(view, row, box),
                Box(*box[0]) if box and box[1] >= strips.ENOUGH else None,
                base if not is_baseline(row["stack"]) else None,
                href(view, row),
            )
        )
    return made


KEY = ("workload", "metric", "condition", "run", "stack", "pair", "node")


def told(view: View, row: Mapping[str, Any], box: tuple[Any, ...] | None = None) -> str:
    """All that is known of a value, in words: what it is, its interval, its trials, and the command."""
    unit, n = row["unit"], row["n"]
    around = units.interval(row["low"], row["median"], row["high"], unit) if n > 1 else ""
    words = [
        f"{row['name']}, {row['condition']}",
        f"{row['metric']}: {units.quantity(row['median'], unit)}" + (f", {row['kind']} {around}" if around else ""),
        f"{n} {'trial' if n == 1 else 'trials'} of {row['workload']}",
    ]
    if box and box[1] >= strips.ENOUGH:
        (p5, p25, p75, p95, p99), count, _ = box
        spread = ", ".join(
            f"{name} {units.quantity(value, unit)}"
            for name, value in (("p5", p5), ("p25", p25), ("p75", p75), ("p95", p95), ("p99", p99))
        )
        words.insert(2, f"{count} values: {spread}")
    if row.get("ratio_median") is not None and row["ratio_median"] != 1:
        words.insert(2, f"÷ none: {units.ratio(row['ratio_median'])}")
    first = _first(view, row)
    return "\n".join([*words, *([tables.shortened(first[0].command)] if first and first[0].command else [])])


def href(view: View, row: Mapping[str, Any]) -> str:
    """The address of the commands of a cell's first trial."""
    first = _first(view, row)
    return tables.commands(first[0], first[1]) if first else ""


def _first(view: View, row: Mapping[str, Any]) -> Any:
    found = view.trials.get((row["run"], row["stack"], row["condition"], row["workload"]), [])
    return next((one for one in found if one[0].verdict == "ok"), found[0] if found else None)


def _grouped(table: pl.DataFrame, keys: Sequence[str]) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in table.iter_rows(named=True):
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups


def _values(view: View) -> dict[tuple[str, ...], list[float]]:
    kept = view.values.filter(pl.col("statistic") == "value")
    return {tuple(key): value for *key, value in _listed(kept)}


def _listed(table: pl.DataFrame) -> Iterator[tuple[Any, ...]]:
    return table.group_by(KEY, maintain_order=True).agg(pl.col("value")).iter_rows()


def _boxes(view: View) -> dict[tuple[str, ...], tuple[Any, ...]]:
    """Quantiles of the raw values of every series, their number, and they themselves where they are few."""
    raw = view.samples.filter(pl.col("at").is_not_null())
    quantiles = [pl.col("value").quantile(at, "linear").alias(name) for name, at in PERCENTILES.items()]
    few = pl.when(pl.len() <= strips.FEW).then(pl.col("value").implode()).alias("few")
    found = raw.group_by(KEY).agg(*quantiles, pl.len().alias("count"), few)
    width = len(KEY)
    return {row[:width]: (row[width : width + 5], row[width + 5], row[width + 6] or ()) for row in found.iter_rows()}
