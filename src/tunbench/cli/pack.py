"""`tunbench pack`: one archive of a run, for whoever verifies it."""

from pathlib import Path
from typing import Annotated

import typer

from tunbench.cli.shared.ended_in_order import ended_in_order
from tunbench.cli.shared.read_runs import tell_missing
from tunbench.cli.shared.run_name import run_argument
from tunbench.cli.shell.console import screen
from tunbench.cli.shell.errors import bad_input_exits
from tunbench.journal.journal import JournalError
from tunbench.run.order import RunError
from tunbench.run.verify import pack as packing


def pack(
    run: Annotated[Path, run_argument()],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The archive, whose name ends in .tar.bz2.")],
) -> None:
    """Pack a run for others: its plan, manifest, journal and digests, as one archive that `verify` takes.

    Logs, raw outputs, and paths of this machine stay here. The same run gives the same bytes.

    \b
    Example:
      tunbench pack runs/wan wan.tar.bz2
    """
    with bad_input_exits(JournalError, RunError), ended_in_order(screen(stderr=True)):
        tell_missing(run, packing.pack(run, file))
    typer.echo(file)
