"""`tunbench compare`: two runs, cell by cell."""

from pathlib import Path
from typing import Annotated

import typer

from tunbench.cli.shared.comparing import Metrics, Stacks, Workloads, comparison
from tunbench.cli.shared.plugin_option import PluginOption
from tunbench.cli.shared.run_name import run_argument
from tunbench.cli.shell.console import screen, show
from tunbench.cli.shell.errors import one_of
from tunbench.cli.shell.listing import print_json


def compare(
    a: Annotated[
        Path,
        run_argument("A run's folder: what it was.", "A"),
    ],
    b: Annotated[
        Path,
        run_argument("A run's folder: what it has become.", "B"),
    ],
    metric: Metrics = "",
    stack: Stacks = "*",
    workload: Workloads = "*",
    show_all: Annotated[bool, typer.Option("--all", help="Show every row.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, in SI units.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV, in SI units.")] = False,
    plugin: PluginOption = None,
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

    one_of({"--json": as_json, "--csv": as_csv})
    compared = comparison(a, b, metric, stack, workload)
    if as_csv:
        typer.echo(frame(worst_first(compared.rows)).write_csv(), nl=False)
    elif as_json:
        print_json(exported.as_json(compared))
    else:
        show(screen(), shown.compared_runs(compared, show_all))
