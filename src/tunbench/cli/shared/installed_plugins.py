"""The plug-ins of installed packages, which every command has."""

from tunbench.cli.shell.errors import bad_input_exits
from tunbench.plugins import taken
from tunbench.plugins.folder import PluginError


def take() -> None:
    """Takes them. Ends the command where one cannot be used."""
    with bad_input_exits(PluginError):
        taken.take()
