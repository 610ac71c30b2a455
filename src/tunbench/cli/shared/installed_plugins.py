"""The plug-ins of installed packages, which every command has unless they are left out."""

from typing import Annotated

import typer

from tunbench.cli.shell.errors import bad_input_exits
from tunbench.plugins import taken
from tunbench.plugins.folder import PluginError
from tunbench.plugins.installed import LEAVE_OUT

NAME = "no_installed_plugins"

LeaveOutOption = Annotated[bool, typer.Option(LEAVE_OUT, help="Leave plug-ins of installed packages out.")]


def wanted(context: typer.Context) -> bool:
    """Whether they are not left out, as `tunbench` itself was told before the command's name."""
    return not context.find_root().params.get(NAME)


def take(context: typer.Context) -> None:
    """Takes them. Ends the command where one cannot be used."""
    with bad_input_exits(PluginError):
        taken.take(with_installed=wanted(context))
