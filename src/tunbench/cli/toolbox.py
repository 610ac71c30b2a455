"""`tunbench toolbox`: programs that Debian lacks, from their package registries."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tunbench.cli.shared.ended_in_order import ended_in_order
from tunbench.cli.shared.plugin_option import PluginOption
from tunbench.cli.shared.run_name import run_option
from tunbench.cli.shell import completion
from tunbench.cli.shell.console import say, screen
from tunbench.cli.shell.errors import BAD_INPUT, bad_input_exits, complain
from tunbench.cli.shell.listing import print_rows
from tunbench.cli.shell.under_way import under_way
from tunbench.journal.journal import JournalError
from tunbench.labs.image import ImageError
from tunbench.plan.extent import duration_in_words
from tunbench.report.export import tools
from tunbench.report.terminal import listings
from tunbench.run.interrupt import INTERRUPTED, interruptible
from tunbench.run.order import RunError
from tunbench.run.verify import their_run
from tunbench.run.verify.listed import tools as tools_of
from tunbench.toolbox import build_requirements
from tunbench.toolbox import install as installing
from tunbench.toolbox.command import ToolError
from tunbench.toolbox.selection import named_tools
from tunbench.toolbox.tools import TOOLS, Tool, UnknownTool

app = typer.Typer(
    no_args_is_help=True,
    help="Install, list and remove programs that Debian lacks: mesh VPNs and others.",
)


Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help=f"{', '.join(TOOLS)}.", autocompletion=completion.tools, show_default=False),
]
OTHER_TOOL = 1
"""Exit code of a tool that was built as a run had it, and is another one."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def install(
    names: Names = None,
    every: Annotated[bool, typer.Option("--all", help="Install every tool.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Build it although it is there.")] = False,
    as_run: Annotated[
        Path | None,
        run_option("--as", "Install the tools that this run had, as it had them.", completion.packed_runs),
    ] = None,
    plugin: PluginOption = None,
) -> None:
    """Fetch tools from their package registries, build them, and put them into the cache.

    Each has one version, and the client of its registry verifies its checksum. Go and cargo must be there. A plan
    that needs a tool finds it in its labs; nothing is fetched while a plan runs.

    With --as they are the tools that the manifest of RUN lists, or those of NAME, at their versions and by the same Go
    or Rust; RUN is a run's folder or what tunbench pack made of it. Checksums of sources and programs are compared.

    \b
    Examples:
      tunbench toolbox install headscale tailscale
      tunbench toolbox install --all                every tool, more than an hour on 2 free cores
      tunbench toolbox install --as mesh.tar.bz2    what this run had

    What is broken off goes on the next time with the program that it was at. Exit code 2 where a tool could not be
    installed, and 1 where one is installed and is not that of RUN.
    """
    console = screen(stderr=True)
    if as_run:
        _install_as(as_run, names or [], every, force, console)
        return
    with bad_input_exits(UnknownTool, ToolError):
        wanted = _chosen(names, every, "install")
        if lacking := build_requirements.missing([one for one in wanted if force or not one.installed]):
            raise ToolError("\n".join(lacking))
    failed = [one for one in wanted if not _provide(one, force, console)]
    if failed:
        raise typer.Exit(BAD_INPUT)


@app.command(name="list")
def listed(
    as_json: AsJson = False,
    plugin: PluginOption = None,
) -> None:
    """List the tools: version, programs, whether each is installed, and what installing it takes.

    Time is that on one free core; disk is the most that building takes, with what is fetched.

    \b
    Examples:
      tunbench toolbox list
      tunbench toolbox list --json
    """
    rows = [tools.as_json(one) for one in TOOLS.values()]
    columns = ("name", "version", "programs", "installed", "to install it")
    print_rows(rows, as_json, columns, listings.tool_row)


@app.command()
def remove(
    names: Names = None,
    every: Annotated[bool, typer.Option("--all", help="Remove every tool, and images of brought programs.")] = False,
) -> None:
    """Remove tools from the cache. What Go and cargo fetched for them stays in the caches of those.

    \b
    Examples:
      tunbench toolbox remove easytier
      tunbench toolbox remove --all
    """
    mistakes = (UnknownTool, ToolError, ImageError)
    with bad_input_exits(*mistakes):
        chosen = _chosen(names, every, "remove")
    for one in chosen:
        with bad_input_exits(*mistakes):
            there = installing.remove(one)
        typer.echo(f"removed {one.folder}" if there else f"{one.name} is not installed")
    if every:
        with bad_input_exits(*mistakes):
            installing.remove_all()


def _chosen(names: Sequence[str] | None, every: bool, what: str) -> list[Tool]:
    if bool(names) == every:
        raise ToolError(f"name the tools to {what}, or give --all; tunbench toolbox list shows them")
    return list(TOOLS.values()) if every else named_tools(names or ())


def _install_as(run: Path, names: Sequence[str], every: bool, force: bool, console: Console) -> None:
    """Installs the tools of a run, or these of them, as it had them, and ends the command where one is not the same."""
    with bad_input_exits(RunError, JournalError, ToolError), ended_in_order(console):
        if every:
            raise ToolError("--all and --as RUN are two choices; --as RUN installs every tool that it had")
        with their_run.opened(run) as their:
            wanted = tools_of(their, names)
        new = [one for one in wanted if force or not one.is_there()]
        if lacking := build_requirements.missing([one.tool for one in new]):
            raise ToolError("\n".join(lacking))
    for one in wanted:
        if one not in new:
            say(console, f"{one.tool.name} {one.tool.version} is there as {run} had it: {one.tool.folder}")
    if not all([_install(one.tool, console) for one in new]):
        raise typer.Exit(BAD_INPUT)
    if others := [one for one in new if not one.is_there()]:
        for one in others:
            complain(f"{one.tool.name} is not that of {run}: {one.difference()}")
        raise typer.Exit(OTHER_TOOL)


def _provide(one: Tool, force: bool, console: Console) -> bool:
    """Installs a tool, unless it is there by now; whether it is there."""
    if one.installed and not force:
        installing.clear(one)
        say(console, f"{one.name} {one.version} is there: {one.folder}")
        return True
    return _install(one, console)


def _install(one: Tool, console: Console) -> bool:
    """Installs a tool and says how it went; whether it is there."""
    began, before = time.monotonic(), installing.built_in(one)
    try:
        with interruptible(), under_way(console, f"{one.name} {one.version}", one.seconds) as progress:
            installing.install(one, progress)
    except KeyboardInterrupt:
        say(console, f"\nInterrupted; {_so_far(one, before)}")
        raise typer.Exit(INTERRUPTED) from None
    except (ToolError, ImageError, OSError) as error:
        say(console, f"{one.name}: {error}")
        return False
    took = duration_in_words(time.monotonic() - began)
    say(console, f"{one.name} {one.version} is installed in {took}: {one.folder}")
    return True


def _so_far(one: Tool, before: int) -> str:
    """What has become of a tool whose installing was interrupted, by the folder that was there before."""
    if installing.built_in(one) not in (0, before):
        return f"{one.name} {one.version} is installed: {one.folder}"
    return f"the programs of {one.name} that are finished are kept for the next time"
