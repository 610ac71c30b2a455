"""`tunbench doctor`: what this machine can run, and the mend for what it cannot."""

from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from tunbench.cli.console import screen
from tunbench.cli.errors import BAD_INPUT
from tunbench.cli.listing import print_json
from tunbench.doctor import examine


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False) -> None:
    """Tell what this machine can run, and the exact mend for what it cannot.

    Exit code 2 where it cannot run the vm lab on the virtual clock, which most plans want.
    """
    checks = examine.host_checks()
    if as_json:
        print_json([check._asdict() for check in checks])
    else:
        table = Table("", "what", "found", "mend", box=None, pad_edge=False)
        for check in checks:
            answer = Text("yes", "green") if check.ok else Text("no", "red")
            table.add_row(answer, check.what, check.found, check.mend)
        screen().print(table)
    if not all(check.ok for check in checks if check.needed):
        raise typer.Exit(BAD_INPUT)
