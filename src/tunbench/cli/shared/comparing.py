"""What commands that compare two runs share: the options that choose rows, and the comparison."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tunbench.cli.shared.read_runs import record_told
from tunbench.cli.shell.errors import bad_input_exits
from tunbench.journal.journal import JournalError

if TYPE_CHECKING:
    from tunbench.analysis.compare.runs import RunComparison

Metrics = Annotated[
    str,
    typer.Option(
        "--metric",
        metavar="NAMES",
        help='Metrics, joined by commas, such as throughput,"rtt p99", or all; else the one that sums up a workload.',
    ),
]
Stacks = Annotated[str, typer.Option("--stack", metavar="PATTERN", help="Stacks, such as wireguard*.")]
Workloads = Annotated[str, typer.Option("--workload", metavar="PATTERN", help="Workloads, such as iperf3-tcp*.")]


def comparison(
    a: Path, b: Path, metric: str, stack: str, workload: str, sides: tuple[str, str] | None = None
) -> "RunComparison":
    """The two runs compared, by other names than A and B where it has any; ends the command where that cannot be."""
    from tunbench.analysis.compare.runs import SIDES
    from tunbench.analysis.compare.runs import compare as compared
    from tunbench.analysis.compare.selection import CompareError, Selection
    from tunbench.analysis.run_analysis import analyse

    names = tuple(dict.fromkeys(name.strip() for name in metric.split(",") if name.strip()))
    with bad_input_exits(JournalError, CompareError):
        records = [record_told(folder) for folder in (a, b)]
        return compared(analyse(records[0]), analyse(records[1]), Selection(names, stack, workload), sides or SIDES)
