"""What a machine can run, as a table: what was looked at, whether it is there, and the mend."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from tunbench.doctor.examine import HostCheck


def table(checks: Sequence[HostCheck]) -> Table:
    """A row for each thing that was looked at."""
    shown = Table("", "what", "found", "mend", box=None, pad_edge=False)
    for check in checks:
        answer = Text("yes", "green") if check.ok else Text("no", "red")
        shown.add_row(answer, check.what, check.found, check.mend)
    return shown
