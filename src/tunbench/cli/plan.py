"""`tunbench plan`: checks a plan, and shows what it would run."""

from collections.abc import Sequence
from typing import Annotated, Literal

import typer
from rich.table import Table

from tunbench.cli.console import say, screen
from tunbench.cli.errors import bad_input_exits
from tunbench.cli.listing import alternatives, print_json
from tunbench.doctor import choose_lab
from tunbench.plan.estimate.duration import MAX_WORKERS, default_workers
from tunbench.plan.expand import expand
from tunbench.plan.extent import as_json as to_json
from tunbench.plan.extent import extent, in_words, values_of
from tunbench.plan.load import Loaded, load
from tunbench.plan.model import CLOCKS, LAB_KINDS
from tunbench.plan.shard import Shard
from tunbench.plan.until import BLOCK
from tunbench.runner.declare import axes
from tunbench.toolbox.command import ToolError
from tunbench.toolbox.selection import needs_of

MAX_LISTED, LISTED_OF_MORE = 100, 10
"""Shards that are listed without being asked for, and those that are listed of a plan that has more."""

MAX_NAMED_VALUES = 12
"""Values of an axis that the summary names; of more, the first and the last."""

SHUFFLED = "On this clock the shards of a repeat are executed in a random order that follows from the seed."

app = typer.Typer(no_args_is_help=True, help="Check a plan, and show what it would run.")

PlanArgument = Annotated[str, typer.Argument(metavar="PLAN", help="A plan's file, or the name of a shipped plan.")]
SeedOption = Annotated[int | None, typer.Option("--seed", metavar="N", help="The seed, instead of the plan's.")]
LabOption = Annotated[
    str | None,
    typer.Option(
        "--lab",
        metavar="KIND",
        help=f"{alternatives(LAB_KINDS)}, instead of the plan's.",
        autocompletion=lambda: list(LAB_KINDS),
    ),
]
ClockOption = Annotated[
    str | None, typer.Option("--clock", metavar="CLOCK", help=f"{alternatives(CLOCKS)}, instead of the plan's.")
]
ScaleOption = Annotated[
    str | None, typer.Option("--scale", metavar="SCALE", help="One of a study's scales, such as quick; else full.")
]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", min=1, max=MAX_WORKERS, help="Labs side by side; else one for each core."),
]


@app.command()
def check(
    plan: PlanArgument,
    seed: SeedOption = None,
    lab: LabOption = None,
    clock: ClockOption = None,
    scale: ScaleOption = None,
) -> None:
    """Say whether a plan can run, and if not, in which line it is wrong and what would mend it.

    \b
    Examples:
      tunbench plan check my-plan.toml
      tunbench plan check my-plan.toml --lab native

    Of a study, all scales, tables and claims are checked, and its published numbers are read. Tools that are not
    installed are named with the command that installs them; without them, stacks that need them are unsupported.
    """
    with bad_input_exits(ToolError):
        loaded = load(plan, seed, lab, clock, scale)
        if loaded.study:
            from tunbench.analysis.study import reference

            reference.read(loaded)
        notes = needs_of({shard.stack for shard in expand(loaded.plan)}, {}).notes
    typer.echo(f"{loaded.path}: ok, {extent(loaded.plan).in_words}")
    for line in notes:
        typer.echo(line, err=True)


@app.command()
def show(
    plan: PlanArgument,
    seed: SeedOption = None,
    lab: LabOption = None,
    clock: ClockOption = None,
    scale: ScaleOption = None,
    workers: WorkersOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_text: Annotated[bool, typer.Option("--text", help="Print the plan itself, as it was written.")] = False,
    every: Annotated[
        bool, typer.Option("--all", help=f"List every shard, also where there are over {MAX_LISTED}.")
    ] = False,
) -> None:
    """List the shards that a plan expands to, with their trials, and estimate how long they take.

    A plan of many shards is summed up: its axes with their values, and the first shards.

    \b
    Examples:
      tunbench plan show quick
      tunbench plan show quick --text >my-plan.toml
      tunbench plan show my-plan.toml --workers 8
      tunbench plan show my-plan.toml --json
    """
    with bad_input_exits(ToolError):
        loaded = load(plan, seed, lab, clock, scale)
        shards = expand(loaded.plan)
        if choice := choose_lab.auto(loaded.plan.lab, shards, needs_of({shard.stack for shard in shards}, {}).files):
            typer.echo(choice.why, err=True)
            loaded = loaded.in_lab(choice.kind, choice.clock)
    count = workers or default_workers(loaded.plan.lab.clock)
    if as_text:
        typer.echo(loaded.text, nl=False)
    elif as_json:
        print_json(to_json(loaded, shards, count))
    else:
        console = screen()
        folded = len(shards) > MAX_LISTED and not every
        if folded:
            console.print(axes_table(loaded, shards))
        console.print(table(loaded, shards, LISTED_OF_MORE if folded else len(shards)))
        if folded:
            console.print(f"… and {len(shards) - LISTED_OF_MORE} more shards: --all lists them")
        if until := loaded.plan.until:
            more = f"listed are the first {shards[-1].repeat} repeats; until asks for more in blocks of {BLOCK}"
            console.print(f"{more}, up to {until.max}")
        if loaded.plan.lab.clock != "virtual":
            console.print(SHUFFLED)
        for name, plan_of in loaded.plans.items() if len(loaded.plans) > 1 else (("", loaded.plan),):
            of_scale = f"at the scale {name}: " if name else ""
            say(console, of_scale + in_words(plan_of, count))


def table(loaded: Loaded, shards: Sequence[Shard], rows: int) -> Table:
    """One row for each of the first shards; an axis has a column where it is not the usual one throughout."""
    plan = loaded.plan
    same = len({shard.workloads for shard in shards}) == 1
    others = [(axis, plan.axes[axis]) for axis in axes.USUAL]
    fixed = "".join(f", {axis} {one[0]}" for axis, one in others if len(one) == 1 and one != [axes.USUAL[axis]])
    shown = Table(
        title=f"{plan.name}{_at_scale(loaded)}: {plan.lab.kind} lab, {plan.lab.clock} clock, seed {plan.seed}{fixed}",
        caption=_caption([one.name for one in shards[0].workloads] if same else ()),
    )
    varied = [axis for axis, names in others if len(names) > 1]
    columns = ["shard", "repeat", *varied, "profile", "stack", "underlay", *([] if same else ["workloads"]), "trials"]
    for column in columns:
        whole = column in ("shard", "repeat", "underlay", "trials")
        justify: Literal["right", "left"] = "right" if column in ("repeat", "trials") else "left"
        shown.add_column(column, justify=justify, overflow="fold", no_wrap=whole)
    for before, shard in zip([None, *shards], shards[:rows], strict=False):
        if before and before.repeat != shard.repeat:
            shown.add_section()
        cells = {**shard.cell_of(""), "shard": shard.id, "repeat": str(shard.repeat), "underlay": shard.stack.underlay}
        cells |= {"workloads": "\n".join(one.name for one in shard.workloads), "trials": str(len(shard.workloads))}
        shown.add_row(*(cells[column] for column in columns))
    return shown


def _caption(workloads: Sequence[str]) -> str:
    """What a shard is, and what each of them does where all do the same."""
    each = f"each of these workloads: {', then '.join(workloads)}" if workloads else "each of its workloads in turn"
    if len(workloads) == 1:
        each = workloads[0]
    return f"A shard starts a lab of its own, brings its stack up in it, and runs one trial of {each}."


def _at_scale(loaded: Loaded) -> str:
    return f" at the scale {loaded.scale}" if len(loaded.plans) > 1 else ""


def axes_table(loaded: Loaded, shards: Sequence[Shard]) -> Table:
    """One row an axis of the plan, with the values that are left of it."""
    shown = Table(title=f"the axes of {loaded.plan.name}")
    for column in ("axis", "values", ""):
        shown.add_column(column, justify="right" if column == "values" else "left", overflow="fold")
    for axis, names in values_of(shards).items():
        shown.add_row(axis, str(len(names)), _elided(names))
    return shown


def _elided(names: Sequence[str]) -> str:
    shown = names if len(names) <= MAX_NAMED_VALUES else [*names[: MAX_NAMED_VALUES - 2], "…", names[-1]]
    return "\n".join(shown)
