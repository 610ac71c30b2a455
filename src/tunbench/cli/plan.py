"""`tunbench plan`: checks a plan, and shows what it would run."""

import os
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import typer

from tunbench.cli.shared.narrowing import ProfileOption, RepeatsOption, StackOption, WorkloadOption, narrowed_by
from tunbench.cli.shared.plan_options import (
    ClockOption,
    LabOption,
    PlanArgument,
    ScaleOption,
    SeedOption,
    WorkersOption,
)
from tunbench.cli.shared.plugin_option import PluginOption
from tunbench.cli.shell.console import say, screen
from tunbench.cli.shell.console import show as show_parts
from tunbench.cli.shell.errors import bad_input_exits, one_of
from tunbench.cli.shell.listing import print_json
from tunbench.doctor import choose_lab, plan_lacks
from tunbench.plan.cautions import lines as caution_lines
from tunbench.plan.estimate.duration import default_workers
from tunbench.plan.expand import expand
from tunbench.plan.extent import as_json as to_json
from tunbench.plan.extent import extent
from tunbench.plan.load import Loaded, load
from tunbench.plan.shard import Shard, needing_of
from tunbench.report.terminal import plan_tables
from tunbench.toolbox.command import ToolError
from tunbench.toolbox.selection import needs_of

app = typer.Typer(no_args_is_help=True, help="Check a plan, and show what it would run.")


class _Looked(NamedTuple):
    """A plan in the lab where it would run here, why it is that one, and what this machine lacks for it."""

    loaded: Loaded
    why: list[str]
    lacks: list[str]


def _looked(loaded: Loaded, shards: Sequence[Shard]) -> _Looked:
    """What this machine makes of a plan. Raises ToolError."""
    needs = needs_of(needing_of(shards), {})
    choice = choose_lab.auto(loaded.plan.lab, shards, needs.files)
    if choice:
        loaded = loaded.in_lab(choice.kind, choice.clock)
    return _Looked(loaded, [choice.why] if choice else [], plan_lacks.lines(loaded.plan.lab, shards, needs))


@app.command()
def check(
    plan: PlanArgument,
    seed: SeedOption = None,
    lab: LabOption = None,
    clock: ClockOption = None,
    scale: ScaleOption = None,
    stack: StackOption = None,
    workload: WorkloadOption = None,
    profile: ProfileOption = None,
    repeats: RepeatsOption = None,
    plugin: PluginOption = None,
) -> None:
    """Say whether a plan can run, and if not, in which line it is wrong and what would mend it.

    \b
    Examples:
      tunbench plan check my-plan.toml
      tunbench plan check my-plan.toml --lab native

    Of a study, all scales, tables and claims are checked, and its published numbers are read. What this machine lacks
    is named with its mend, and the plan is sound all the same: without an image it does not run, and without a tool
    the stacks that need it are unsupported.
    """
    with bad_input_exits(ToolError):
        narrowed = narrowed_by(stack, workload, profile, repeats)
        loaded = load(plan, seed=seed, lab=lab, clock=clock, scale=scale, **narrowed)
        if loaded.study:
            from tunbench.journal.readers import published

            published.read(loaded)
        shards = expand(loaded.plan)
        loaded, why, lacks = _looked(loaded, shards)
        notes = [*why, *lacks, *caution_lines(shards, loaded.plan.lab.clock)]
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
    stack: StackOption = None,
    workload: WorkloadOption = None,
    profile: ProfileOption = None,
    repeats: RepeatsOption = None,
    workers: WorkersOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_text: Annotated[bool, typer.Option("--text", help="Print the plan itself, as it was written.")] = False,
    every: Annotated[
        bool, typer.Option("--all", help=f"List every shard, also where there are over {plan_tables.MAX_LISTED}.")
    ] = False,
    plugin: PluginOption = None,
) -> None:
    """List the shards that a plan expands to, with their trials, and estimate how long they take.

    A plan of many shards is summed up: its axes with their values, and the first shards.

    \b
    Examples:
      tunbench plan show quick
      tunbench plan show quick --text >my-plan.toml
      tunbench plan show my-plan.toml --workers 8
      tunbench plan show quick --stack 'wireguard*' --workload 'ping*'
      tunbench plan show my-plan.toml --json
    """
    one_of({"--json": as_json, "--text": as_text})
    with bad_input_exits(ToolError):
        narrowed = narrowed_by(stack, workload, profile, repeats)
        loaded = load(plan, seed=seed, lab=lab, clock=clock, scale=scale, **narrowed)
        shards = expand(loaded.plan)
        loaded, why, lacks = _looked(loaded, shards)
    for line in why:
        typer.echo(line, err=True)
    count = workers or default_workers(loaded.plan.lab.clock)
    if as_text:
        typer.echo(loaded.text, nl=False)
    elif as_json:
        print_json(to_json(loaded, shards, count))
    else:
        show_parts(screen(), plan_tables.expanded(loaded, shards, count, every))
        for line in [*lacks, *_cores(count, loaded.plan.lab.clock), *caution_lines(shards, loaded.plan.lab.clock)]:
            say(screen(stderr=True), line)


def _cores(workers: int, clock: str) -> list[str]:
    """That the time is another machine's, where this one has fewer cores than labs; on the real clock they wait."""
    cores = os.cpu_count() or 1
    several = f"{cores} cores" if cores > 1 else "one core"
    told = f"each of the {workers} labs needs a core: this machine has {several}, and takes longer than that"
    text = f"{told}; its own time is told with --workers {cores}"
    return [text] if clock == "virtual" and workers > cores else []
