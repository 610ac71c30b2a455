"""`tunbench toolbox`: programs that Debian lacks, from their package registries."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tunbench.cli.console import say, screen
from tunbench.cli.errors import BAD_INPUT, bad_input_exits
from tunbench.cli.listing import print_rows
from tunbench.labs.image import ImageError
from tunbench.plan.extent import duration_in_words
from tunbench.report.export import tools
from tunbench.report.terminal import listings
from tunbench.run.interrupt import INTERRUPTED, interruptible
from tunbench.toolbox import build_requirements, command
from tunbench.toolbox import install as installing
from tunbench.toolbox.command import ToolError
from tunbench.toolbox.tools import TOOLS, Tool, UnknownTool, tool

app = typer.Typer(
    no_args_is_help=True,
    help="Install, list and remove programs that Debian lacks: mesh VPNs and others.",
)


def _names(incomplete: str) -> list[str]:
    return [name for name in TOOLS if name.startswith(incomplete)]


Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help=f"{', '.join(TOOLS)}.", autocompletion=_names, show_default=False),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.command()
def install(
    names: Names = None,
    every: Annotated[bool, typer.Option("--all", help="Install every tool.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Build it although it is there.")] = False,
) -> None:
    """Fetch tools from their package registries, build them, and put them into the cache.

    Each has one version, and the client of its registry verifies its checksum. Go and cargo must be there. A plan
    that needs a tool finds it in its labs; nothing is fetched while a plan runs.

    \b
    Examples:
      tunbench toolbox install headscale tailscale
      tunbench toolbox install --all                every tool, half an hour on 2 free cores

    What is broken off leaves nothing behind. Exit code 2 where a tool could not be installed.
    """
    console = screen(stderr=True)
    with bad_input_exits(UnknownTool, ToolError):
        wanted = _chosen(names, every, "install")
        if lacking := build_requirements.missing([one for one in wanted if force or not one.installed]):
            raise ToolError("\n".join(lacking))
    failed = [one for one in wanted if not _provide(one, force, console)]
    if failed:
        raise typer.Exit(BAD_INPUT)


@app.command(name="list")
def listed(as_json: AsJson = False) -> None:
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
    with bad_input_exits(UnknownTool, ToolError, OSError):
        for one in _chosen(names, every, "remove"):
            typer.echo(f"removed {one.folder}" if installing.remove(one) else f"{one.name} is not installed")
        if every:
            installing.remove_all()


def _chosen(names: Sequence[str] | None, every: bool, what: str) -> list[Tool]:
    if bool(names) == every:
        raise ToolError(f"name the tools to {what}, or give --all; tunbench toolbox list shows them")
    return list(TOOLS.values()) if every else [tool(name) for name in dict.fromkeys(names or ())]


def _provide(one: Tool, force: bool, console: Console) -> bool:
    """Installs a tool, unless it is there by now; whether it is there."""
    if one.installed and not force:
        say(console, f"{one.name} {one.version} is there: {one.folder}")
        return True
    return _install(one, console)


def _install(one: Tool, console: Console) -> bool:
    """Installs a tool and says how it went; whether it is there."""
    began = time.monotonic()
    try:
        with interruptible(), _status(one, console) as progress:
            installing.install(one, progress)
    except KeyboardInterrupt:
        console.print(f"\nInterrupted; nothing of {one.name} was kept")
        raise typer.Exit(INTERRUPTED) from None
    except (ToolError, ImageError, OSError) as error:
        say(console, f"{one.name}: {error}")
        return False
    took = duration_in_words(time.monotonic() - began)
    say(console, f"{one.name} {one.version} is installed in {took}: {one.folder}")
    return True


@contextmanager
def _status(one: Tool, console: Console) -> Iterator[command.Progress]:
    """One line that says what is being done, and for how long already; without a terminal, one at the start."""
    if not console.is_terminal:
        console.print(f"{one.name} {one.version}: building, about {duration_in_words(one.seconds)} on one core")
    shown = Progress(
        SpinnerColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )
    with shown:
        task = shown.add_task(one.name)
        yield lambda text: shown.update(task, description=f"{one.name}: {text}"[: console.width - 12])
