"""`tunbench verify`: executes shards of somebody else's run again, and says whether they are equal to the byte."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from tunbench.cli.shared.ended_in_order import ended_in_order
from tunbench.cli.shared.executing import MISTAKES, SOME_FAILED, execute
from tunbench.cli.shared.path_names import folder_option
from tunbench.cli.shared.plugin_option import PluginOption
from tunbench.cli.shared.run_name import run_argument
from tunbench.cli.shell import completion
from tunbench.cli.shell.console import say, screen, show
from tunbench.cli.shell.errors import bad_input_exits
from tunbench.cli.shell.listing import print_json
from tunbench.labs.unwritable import temporary_folder
from tunbench.plain_text import line
from tunbench.plan.estimate.duration import MAX_WORKERS, default_workers
from tunbench.plan.shard import Shard
from tunbench.report import verification_wording as wording
from tunbench.run import execution, given_plugins
from tunbench.run.manifest import describe
from tunbench.run.order import Order, RunError
from tunbench.run.verify import again, facts, provide, their_run
from tunbench.run.verify.facts import FactDifference
from tunbench.run.verify.their_run import TheirRun
from tunbench.run.verify.verification import Verification, compared
from tunbench.toolbox import brought_programs

ALL = "all"

USUAL_COUNT = "3"

BUILT_BY = {"image": "lab build", "addons": "lab build", "tools": "toolbox install"}
"""The command that builds what a run had, by what of its manifest differs."""


def verify(
    run: Annotated[
        Path,
        run_argument("A run's folder, or what tunbench pack made of it.", completed=completion.packed_runs),
    ],
    shards: Annotated[
        str,
        typer.Option(metavar="NUMBER", help=f"How many shards, or {ALL}.", autocompletion=lambda: [USUAL_COUNT, ALL]),
    ] = USUAL_COUNT,
    seed: Annotated[int, typer.Option(help="Chooses the shards: give one that the author cannot know.")] = 1,
    medians: Annotated[
        bool, typer.Option("--medians", help="Compare medians where equal bytes cannot be expected.")
    ] = False,
    out: Annotated[Path | None, folder_option("The folder of what is executed here; else it is not kept.")] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=MAX_WORKERS, help="Shards at a time; else one for each processor.")
    ] = None,
    tool: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="A program that the author brought, and that you bring as well."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, in SI units.")] = False,
    plugin: PluginOption = None,
) -> None:
    """Execute shards of a run again, and say whether they are equal to the byte.

    First what decides the numbers is compared: runner, plug-ins, QEMU, image, add-ons, tools. What is not there is
    built. A run from somebody else is read as what anybody may have written: nothing of it is executed on this machine,
    and nothing outside its folder is read. What is executed is the plan's shards, in the lab.

    Exit codes: 0 it is verified, 1 it was executed and differs, 2 bad input, or another machine or image.

    \b
    Examples:
      tunbench verify wan.tar.bz2
      tunbench verify runs/wan --shards all
      tunbench verify wan.tar.bz2 --shards 5 --seed 4711 --out runs/again
      tunbench verify runs/native --medians     on the real clock nothing is equal to the byte
    """
    console = screen(stderr=True)
    with bad_input_exits(*MISTAKES), ended_in_order(console):
        count = _count(shards)
        with their_run.opened(run, _given(tool, plugin)) as their, _folder(out) as folder:
            _check(their, count, medians)
            loaded = again.loaded_plan(their)
            asked = again.asked_shards(their, loaded)
            chosen = again.choose(asked.finished, count, seed)
            given = brought_programs.parsed(tool or [])
            order = again.order_of(their, loaded, chosen, given)
            execution.refuse_another(folder, order)
            if _build(order, their, not medians, console):
                order = again.order_of(their, loaded, chosen, given)
            differing = facts.differences(their.head.manifest, describe(order), order.lab.deciding_facts)
            if differing and not medians:
                raise RunError(_other_machine(their, differing))
            for one in differing:
                say(console, wording.fact(one))
            _execute(folder, order, workers, console)
            found = compared(their, folder, chosen, asked, seed)
            if order.lab.clock == "virtual" and not differing:
                raise typer.Exit(_tell(found, as_json))
            raise typer.Exit(_tell_medians(their, folder, chosen, found, differing, as_json))


def _given(tools: Sequence[str] | None, plugins: Sequence[Path] | None) -> list[str]:
    """The options by which a reader brings what a run needs, as they were typed."""
    brought = [("--tool", one) for one in tools or []] + [("--plugin", str(one)) for one in plugins or []]
    return [word for option in brought for word in option]


def _count(shards: str) -> int | None:
    """How many shards are wanted; None for all of them. Raises RunError."""
    if shards == ALL:
        return None
    if not (shards.isdecimal() and shards.isascii() and len(shards) < 10 and int(shards)):
        raise RunError(f"--shards {line(shards, 100)}: give a number from 1 on, or {ALL}")
    return int(shards)


def _check(their: TheirRun, count: int | None, medians: bool) -> None:
    """Raises RunError where executing shards again would say nothing."""
    again.check_lab(their)
    if their.changed and count is not None:
        raise RunError(
            f"{their.changed}. Ask for it as it was, or see which trials come out otherwise here, with: "
            f"{their_run.command(their, f'--shards {ALL}')}"
        )
    if their.record.clock != "virtual" and not medians:
        raise RunError(
            f"{their.name} was measured on the real clock, where no two runs are equal to the byte; compare its "
            f"medians with new ones, with: {their_run.command(their, '--medians')}"
        )
    again.check_runner(their)
    given_plugins.check(their.head.manifest, their.name, their_run.command(their))


def _build(order: Order, their: TheirRun, exact: bool, console: Console) -> bool:
    """Builds what the order lacks on this machine; whether it lacked anything."""
    needed = provide.lacking(order)
    provide.check(needed, their, exact)
    for one in needed:
        say(console, f"{one.name} is not there, and is built: that takes some minutes")
        with console.status(f"building {one.name}") as status:
            provide.build(one, their, exact, lambda text: status.update(Text(f"building: {text}")))
    return bool(needed)


def _other_machine(their: TheirRun, differing: Sequence[FactDifference]) -> str:
    keys = {one.key for one in differing}
    mends = {their_run.command_as(what, their.name): key for key, what in BUILT_BY.items() if key in keys}
    return "\n".join(
        [
            wording.facts(differing),
            f"so {their.name} cannot come out equal to the byte here; use what it names, or compare the medians, with: "
            f"{their_run.command(their, '--medians')}",
            *(f"what it had is built by: {command}" for command in mends),
        ]
    )


def _execute(folder: Path, order: Order, workers: int | None, console: Console) -> None:
    for note in order.toolbox.notes:
        say(console, note)
    with execution.machine_held(order):
        execution.create(folder, order)
        execute(folder, order, workers or default_workers(order.lab.clock), console, "begin again")


def _tell(found: Verification, as_json: bool) -> int:
    """Says whether all is equal to the byte; returns the exit code."""
    from tunbench.report.export import verification as exported

    if as_json:
        print_json(exported.as_json(found))
    else:
        for sentence in wording.sentences(found):
            say(screen(), sentence)
    return 0 if found.equal else SOME_FAILED


def _tell_medians(
    their: TheirRun,
    folder: Path,
    chosen: Sequence[Shard],
    found: Verification,
    differing: Sequence[FactDifference],
    as_json: bool,
) -> int:
    """Shows the medians of what was executed here beside those of the run; returns the exit code."""
    from tunbench.report.export import verification as exported
    from tunbench.report.terminal import comparison as shown
    from tunbench.run.verify import medians

    with bad_input_exits(medians.CompareError):
        rows = medians.compared(their, folder, chosen)
    agrees = False if found.interrupted else medians.agree(rows)
    if as_json:
        print_json(exported.medians_as_json(found, differing, rows, agrees))
    else:
        console = screen()
        show(console, shown.compared_runs(rows, False))
        say(console, wording.of_medians(found, rows, agrees))
    return SOME_FAILED if agrees is False else 0


@contextmanager
def _folder(out: Path | None) -> Iterator[Path]:
    """The folder of what is executed here, which is gone afterwards unless it was named."""
    if out:
        yield out
    else:
        with temporary_folder(RunError) as folder:
            yield folder / "again"
