"""`tunbench compare`: two runs, cell by cell."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tunbench.cli.console import screen, show
from tunbench.cli.errors import BAD_INPUT, bad_input_exits
from tunbench.cli.listing import print_json
from tunbench.journal.folders import resume_command
from tunbench.journal.journal import JournalError
from tunbench.journal.readers.registry import record_of
from tunbench.plain_text import line

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


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="A run's folder: what it was.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="A run's folder: what it has become.")],
    metric: Metrics = "",
    stack: Stacks = "*",
    workload: Workloads = "*",
    show_all: Annotated[bool, typer.Option("--all", help="Show every row.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, in SI units.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, in SI units.")] = False,
) -> None:
    """Compare two runs: for each cell the shift from A to B, its interval, the effect size, p, and a verdict.

    p is that of Mann and Whitney's test, corrected by Holm's method over all rows that were chosen. It needs 8 trials
    on both sides; below that, a cell is undecided. docs/statistics.md has every formula.

    \b
    Examples:
      tunbench compare runs/before runs/after
      tunbench compare runs/before runs/after --metric throughput,rtt,"rtt p99" --stack "wireguard*"
      tunbench compare runs/before runs/after --metric all --csv > changes.csv
    """
    from tunbench.analysis.compare.compared_cell import frame, worst_first
    from tunbench.report.export import comparison as exported
    from tunbench.report.terminal import comparison as shown

    if as_json and as_csv:
        typer.echo("--json and --csv exclude each other; give one of them", err=True)
        raise typer.Exit(BAD_INPUT)
    compared = comparison(a, b, metric, stack, workload)
    if as_csv:
        typer.echo(frame(worst_first(compared.rows)).write_csv(), nl=False)
    elif as_json:
        print_json(exported.as_json(compared))
    else:
        console = screen()
        show(console, shown.compared_runs(compared, show_all, console.width))


def comparison(a: Path, b: Path, metric: str, stack: str, workload: str) -> "RunComparison":
    """The two runs compared; ends the command where that cannot be."""
    from tunbench.analysis.compare.runs import CompareError, Selection
    from tunbench.analysis.compare.runs import compare as compared
    from tunbench.analysis.findings import find

    names = tuple(dict.fromkeys(name.strip() for name in metric.split(",") if name.strip()))
    with bad_input_exits(JournalError, CompareError):
        records = [record_of(folder) for folder in (a, b)]
        for folder, record in zip((a, b), records, strict=True):
            if len(record.trials) < record.planned:
                missing = f"{record.planned - len(record.trials)} of {record.planned} trials are missing"
                typer.echo(f"{line(str(folder))}: {missing}; go on with: {resume_command(folder)}", err=True)
        return compared(find(records[0]), find(records[1]), Selection(names, stack, workload))
