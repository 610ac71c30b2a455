"""What a figure is: charts of a report that belong together, and what all of them say of a stack and of a value."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tunbench.analysis.ratios import is_baseline, underlay
from tunbench.report import palette, units
from tunbench.report.charts import canvas
from tunbench.report.charts.canvas import Mark
from tunbench.report.trial_links import command_line, commands
from tunbench.report.view import View
from tunbench.runner.declare.verdicts import Verdict

MAX_UNFOLDED = 3
"""Figures of a question that are unfolded: they stand beside each other."""

MAX_UNFOLDED_OF_SEVERAL = 1
"""The same where each figure has several charts, which stand beside each other."""


class Panel(NamedTuple):
    """One chart of a figure: its heading, its condition's number in the filters (−1: none), and what draws it as SVG.

    `cells` are those that it is about, where its condition alone does not tell.
    """

    heading: str
    condition: int
    draw: Callable[[], str]
    cells: Sequence[Mapping[str, Any]] = ()


class Figure(NamedTuple):
    """Charts that belong together. `workload` is its number in the filters, −1 where there are several.

    It is `main` where it answers the question of its section, and else bears on it. Where its charts have a row for
    each value, `rows` says how many.
    """

    id: str
    heading: str
    about: str
    note: str
    workload: int
    panels: Sequence[Panel]
    unfolded: bool
    main: bool = True
    rows: int = 0


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


def words_of(view: View, row: Mapping[str, Any], spread: str = "") -> str:
    """All that is known of a value, in words: what it is, its interval and spread, its trials, and the command."""
    unit, n = row["unit"], row["n"]
    around = units.interval(row["low"], row["median"], row["high"], unit) if n > 1 else ""
    words = [
        f"{row['name']}, {row['condition']}",
        f"{row['metric']}: {units.quantity(row['median'], unit)}" + (f", {row['kind']} {around}" if around else ""),
        f"{n} {'trial' if n == 1 else 'trials'} of {row['workload']}",
    ]
    if spread:
        words.insert(2, spread)
    if row.get("ratio_median") is not None and row["ratio_median"] != 1:
        words.insert(2, f"÷ none: {units.ratio(row['ratio_median'])}")
    first = _first_trial(view, row)
    return "\n".join([*words, *([command_line(first[0].command)] if first and first[0].command else [])])


def address_of(view: View, row: Mapping[str, Any]) -> str:
    """The address of the commands of a cell's first trial."""
    first = _first_trial(view, row)
    return commands(first[0], first[1]) if first else ""


def _first_trial(view: View, row: Mapping[str, Any]) -> Any:
    found = view.trials.get((row["run"], row["stack"], row["condition"], row["workload"]), [])
    return next((one for one in found if one[0].verdict == Verdict.OK), found[0] if found else None)


def by_condition(rows: Sequence[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The rows of each condition, in their order."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["condition"], []).append(row)
    return found
