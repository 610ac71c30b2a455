"""What a plan would run: its shards as a table, and its axes where there are many, part by part."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from tunbench.plan.extent import in_words, values_of
from tunbench.plan.load import Loaded
from tunbench.plan.shard import Shard
from tunbench.plan.until import BLOCK
from tunbench.report.terminal.grid import Grid, GridColumn, GridRow, rows_of
from tunbench.runner.declare import axes

MAX_LISTED, LISTED_OF_MORE = 100, 10
"""Shards that are listed without being asked for, and those that are listed of a plan that has more."""

MAX_NAMED_VALUES = 12
"""Values of an axis that are named; of more, the first and the last."""

SHUFFLED = "On this clock the shards of a repeat are executed in a random order that follows from the seed."


def expanded(loaded: Loaded, shards: Sequence[Shard], workers: int, every: bool) -> Iterator[RenderableType]:
    """The shards, of many the first ones below all axes; what else is to know of them, and how long they take."""
    folded = len(shards) > MAX_LISTED and not every
    if folded:
        yield _axes(loaded, shards)
    yield from _shards(loaded, shards, LISTED_OF_MORE if folded else len(shards))
    if folded:
        yield Text(f"… and {len(shards) - LISTED_OF_MORE} more shards: --all lists them")
    if until := loaded.plan.until:
        more = f"listed are the first {shards[-1].repeat} repeats; until asks for more in blocks of {BLOCK}"
        yield Text(f"{more}, up to {until.max}")
    if loaded.plan.lab.clock != "virtual":
        yield Text(SHUFFLED)
    for name, plan in loaded.plans.items() if len(loaded.plans) > 1 else (("", loaded.plan),):
        yield (f"at the scale {name}: " if name else "") + in_words(plan, workers)


def _shards(loaded: Loaded, shards: Sequence[Shard], rows: int) -> Iterator[RenderableType]:
    """One row for each of the first shards; an axis has a column where it is not the usual one throughout."""
    plan = loaded.plan
    same = len({shard.workloads for shard in shards}) == 1
    others = [(axis, plan.axes[axis]) for axis in axes.USUAL]
    fixed = "".join(f", {axis} {one[0]}" for axis, one in others if len(one) == 1 and one != [axes.USUAL[axis]])
    title = f"{plan.name}{_at_scale(loaded)}: {plan.lab.kind} lab, {plan.lab.clock} clock, seed {plan.seed}{fixed}"
    varied = [axis for axis, names in others if len(names) > 1]
    columns = ["shard", "repeat", *varied, "profile", "stack", "underlay", *([] if same else ["workloads"]), "trials"]
    shown = []
    for before, shard in zip([None, *shards], shards[:rows], strict=False):
        cells = {**shard.cell_of(""), "shard": shard.id, "repeat": str(shard.repeat), "underlay": shard.stack.underlay}
        cells |= {"workloads": "\n".join(one.name for one in shard.workloads), "trials": str(len(shard.workloads))}
        fields = [Text(cells[column]) for column in columns]
        shown.append(GridRow(fields, section=bool(before and before.repeat != shard.repeat)))
    heads = [
        GridColumn(column, column in ("repeat", "trials"), column in ("shard", "profile", "stack"))
        for column in columns
    ]
    yield Grid(heads, shown, title)
    yield Text(_caption([one.name for one in shards[0].workloads] if same else ()), "dim")


def _caption(workloads: Sequence[str]) -> str:
    """What a shard is, and what each of them does where all do the same."""
    each = f"each of these workloads: {', then '.join(workloads)}" if workloads else "each of its workloads in turn"
    if len(workloads) == 1:
        each = workloads[0]
    return f"A shard starts a lab of its own, brings its stack up in it, and runs one trial of {each}."


def _at_scale(loaded: Loaded) -> str:
    return f" at the scale {loaded.scale}" if len(loaded.plans) > 1 else ""


def _axes(loaded: Loaded, shards: Sequence[Shard]) -> Grid:
    """One row an axis of the plan, with the values that are left of it."""
    heads = [GridColumn("axis", place=True), GridColumn("values", number=True), GridColumn("")]
    rows = rows_of([axis, str(len(names)), _elided(names)] for axis, names in values_of(shards).items())
    return Grid(heads, rows, f"the axes of {loaded.plan.name}")


def _elided(names: Sequence[str]) -> str:
    shown = names if len(names) <= MAX_NAMED_VALUES else [*names[: MAX_NAMED_VALUES - 2], "…", names[-1]]
    return "\n".join(shown)
