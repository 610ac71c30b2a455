"""`tunbench run`: executes a plan, and goes on with one that was interrupted."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tunbench.cli.shared.executing import MISTAKES, conclude, execute
from tunbench.cli.shared.narrowing import ProfileOption, RepeatsOption, StackOption, WorkloadOption, narrowed_by
from tunbench.cli.shared.path_names import folder_option
from tunbench.cli.shared.plan_options import (
    ClockOption,
    ExecutorOption,
    LabOption,
    ScaleOption,
    SeedOption,
    WorkersOption,
)
from tunbench.cli.shared.plugin_option import PluginOption
from tunbench.cli.shared.run_name import run_option
from tunbench.cli.shell import completion
from tunbench.cli.shell.console import say, screen
from tunbench.cli.shell.errors import bad_input_exits
from tunbench.executors import choice
from tunbench.executors.choice import DaskChoice
from tunbench.executors.cluster import cluster
from tunbench.executors.pool import Seats, seats_of
from tunbench.plan import cautions, load
from tunbench.plan.estimate.duration import default_workers
from tunbench.run import execution
from tunbench.run.interrupt import INTERRUPTED, interruptible
from tunbench.run.order import Order, RunError, default_folder, order_of
from tunbench.run.resume import reopen
from tunbench.run.verify import pack as packing
from tunbench.toolbox import brought_programs


def run(
    plan: Annotated[
        str | None,
        typer.Argument(
            help="A plan's file, or the name of a shipped plan, such as quick.", autocompletion=completion.plans
        ),
    ] = None,
    seed: SeedOption = None,
    out: Annotated[Path | None, folder_option("The run's folder; else runs/<time>-<plan>.")] = None,
    workers: WorkersOption = None,
    executor: ExecutorOption = None,
    lab: LabOption = None,
    clock: ClockOption = None,
    scale: ScaleOption = None,
    stack: StackOption = None,
    workload: WorkloadOption = None,
    profile: ProfileOption = None,
    repeats: RepeatsOption = None,
    tool: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="A program that you bring, such as zerotier-one; repeat it for others."),
    ] = None,
    pack: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Pack the run for others, who verify it; the name ends in .tar.bz2."),
    ] = None,
    resume: Annotated[
        Path | None,
        run_option("--resume", "Go on with a run that was interrupted."),
    ] = None,
    plugin: PluginOption = None,
) -> None:
    """Execute a plan: build the lab, bring the tunnels up, prove them, measure, and write a report.

    \b
    Examples:
      tunbench run quick                        seven stacks, two profiles, three seeds
      tunbench run my-plan.toml --seed 7 --out runs/seven
      tunbench run openwrt-2016 --scale quick   a study, as far as half an hour goes
      tunbench run quick --stack none --stack 'wireguard*' --profile baseline --repeats 6
      tunbench run my-plan.toml --pack seven.tar.bz2   and one archive for others, who verify it
      tunbench run quick --executor dask=tcp://10.0.0.1:8786   on the workers of a cluster (docs/clusters.md)
      tunbench run --resume runs/seven          after Ctrl-C, a crash or a full disk
    """
    console = screen(stderr=True)
    with bad_input_exits(*MISTAKES):
        if pack is not None:
            packing.check(pack)
        where = choice.chosen(executor, workers)
        options = {"seed": seed, "lab": lab, "clock": clock, "scale": scale}
        options |= narrowed_by(stack, workload, profile, repeats)
        folder, order = _order_in(plan, out, resume, options, tool or [])
        notes = [*order.toolbox.notes, *cautions.lines(order.shards, order.lab.clock)]
        for line in [*([order.why_this_lab] if order.why_this_lab else []), *notes]:
            say(console, line)
        count = workers or default_workers(order.lab.clock)
        with execution.machine_held(order), _executing(where, order, count, console) as (order, seats):
            if resume is None:
                execution.create(folder, order)
            changed = execute(folder, order, seats, console)
        code = conclude(folder, order.loaded, changed, console)
        if pack is not None:
            packing.pack(folder, pack)
            say(console, f"packed       {pack}")
        raise typer.Exit(code)


def _order_in(
    plan: str | None, out: Path | None, resume: Path | None, options: dict[str, Any], tools: list[str]
) -> tuple[Path, Order]:
    """The folder of a run, and what is to be run in it: as a plan says it, or as it was begun."""
    given = {name: value for name, value in options.items() if value is not None}
    if resume is not None:
        if plan or out or given or tools:
            raise RunError(
                "--resume goes on with a run as it was begun: give no plan, and --workers, --executor or --pack at most"
            )
        return resume, reopen(resume)
    if plan is None:
        raise RunError("name a plan, such as: tunbench run quick (tunbench list plans shows them)")
    loaded = load.load(plan, **options)
    if loaded.study:
        from tunbench.journal.readers import published

        # What cannot be compared afterwards is told before hours are spent on it.
        published.read(loaded)
    order = order_of(loaded, given, brought_programs.parsed(tools))
    return out or default_folder(order.plan.name), order


@contextmanager
def _executing(where: DaskChoice | None, order: Order, workers: int, console: Console) -> Iterator[tuple[Order, Seats]]:
    """The order with its lab where shards start, and how many at a time: on this machine, or on workers."""
    if where is None:
        yield order, seats_of(workers)
        return

    def tell(text: str) -> None:
        say(console, text)

    cluster.check(order.lab, order.shards, where)
    with ExitStack() as stack:
        try:
            stack.enter_context(interruptible())
            lab = stack.enter_context(cluster.joined(where, order.lab, order.loaded, order.overrides, tell))
        except KeyboardInterrupt:
            say(console, "\nInterrupted before anything was executed")
            raise typer.Exit(INTERRUPTED) from None
        yield order._replace(lab=lab), lab.seats
