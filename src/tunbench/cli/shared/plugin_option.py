"""The option that names plug-ins, of every command that reads a plan or a run, or lists what plug-ins bring."""

from pathlib import Path
from typing import Annotated

import typer

from tunbench.cli.shared import installed_plugins
from tunbench.cli.shell.errors import bad_input_exits
from tunbench.plugins import taken
from tunbench.plugins.folder import PluginError


def _taken(context: typer.Context, folders: list[Path] | None) -> list[Path] | None:
    """Takes the plug-ins in these folders as the option is read, so that all others know what they bring."""
    if context.resilient_parsing:
        _taken_for_completion(context, folders or [])
    elif folders:
        with bad_input_exits(PluginError):
            taken.take(folders, installed_plugins.wanted(context))
    return folders


def _taken_for_completion(context: typer.Context, folders: list[Path]) -> None:
    try:
        taken.take(folders, installed_plugins.wanted(context))
    except PluginError:
        # Who presses a key is told nothing; the command will tell.
        return


PluginOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugin",
        metavar="DIR",
        help="Tunnels, workloads and probes of yours, in this folder; repeat it for others.",
        callback=_taken,
        is_eager=True,
    ),
]
