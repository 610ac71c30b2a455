"""What a machine can run: three lines, and below them what was looked at, whether it is there, and the mend."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from tunbench.doctor.host_check import HostCheck
from tunbench.doctor.summary import summary
from tunbench.report.terminal.grid import Grid, GridColumn, rows_of


def whole(checks: Sequence[HostCheck]) -> Iterator[RenderableType]:
    """The three lines, and a row for each thing that was looked at."""
    lines = summary(checks)._asdict()
    widest = max(map(len, lines))
    yield from (f"{name.replace('_', ' '):{widest}}  {line}" for name, line in lines.items())
    yield ""
    yield from rows(checks)


def rows(checks: Sequence[HostCheck]) -> Iterator[RenderableType]:
    """A row for each thing that was looked at."""
    heads = [GridColumn(""), GridColumn("what", place=True), GridColumn("found"), GridColumn("mend")]
    yield Grid(heads, rows_of(map(_row, checks)))


def _row(check: HostCheck) -> list[str | Text]:
    answer = Text("yes", "green") if check.ok else Text("no", "red")
    return [answer, check.what, check.found, check.mend]
