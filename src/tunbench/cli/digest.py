"""`tunbench digest`: the fingerprint of a run."""

from pathlib import Path
from typing import Annotated

import typer

from tunbench.cli.shared.plugin_option import PluginOption
from tunbench.cli.shared.read_runs import record_told
from tunbench.cli.shared.run_name import run_argument
from tunbench.cli.shell.errors import bad_input_exits
from tunbench.journal.journal import JournalError


def digest(
    run: Annotated[Path, run_argument()],
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
        typer.echo(record_told(run).fingerprint)
