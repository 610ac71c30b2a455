"""`tunbench digest`: the fingerprint of a run."""

from pathlib import Path
from typing import Annotated

import typer

from tunbench.cli.shared.plugin_option import PluginOption
from tunbench.cli.shell import completion
from tunbench.cli.shell.errors import bad_input_exits
from tunbench.journal.folders import resume_command
from tunbench.journal.journal import JournalError
from tunbench.journal.readers.registry import record_of


def digest(
    run: Annotated[Path, typer.Argument(help="A run's folder.", autocompletion=completion.runs)],
    plugin: PluginOption = None,
) -> None:
    """Print the fingerprint of a run: one SHA-256 over all of its samples and verdicts.

    Two runs with equal plan, seed, image, QEMU and runner have the same one in virtual time. On the real clock nothing
    is promised.

    \b
    Example:
      tunbench digest runs/wan
    """
    with bad_input_exits(JournalError):
        record = record_of(run)
    typer.echo(record.fingerprint)
    if len(record.trials) < record.planned:
        missing = f"{record.planned - len(record.trials)} of {record.planned} trials are missing"
        typer.echo(f"{missing}; go on with: {resume_command(run)}", err=True)
