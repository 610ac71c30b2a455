"""`tunbench gate`: whether a new run may pass, for continuous integration."""

from pathlib import Path
from typing import Annotated

import typer

from tunbench.cli.shared.comparing import Metrics, Stacks, Workloads, comparison
from tunbench.cli.shared.plugin_option import PluginOption
from tunbench.cli.shared.run_name import run_argument
from tunbench.cli.shell.console import screen, show
from tunbench.cli.shell.errors import bad_input_exits, unwritable_exits
from tunbench.cli.shell.listing import print_json
from tunbench.journal import files
from tunbench.runner.declare import quantity

STOPPED = 1
"""Exit code of a run that may not pass."""

MEND = "name another file"


def gate(
    base: Annotated[
        Path,
        run_argument("The run's folder of what is in use.", "BASE"),
    ],
    new: Annotated[
        Path,
        run_argument("The run's folder of what shall be.", "NEW"),
    ],
    tolerance: Annotated[str, typer.Option(metavar="PERCENT", help="By how much a cell may get worse.")] = "2%",
    metric: Metrics = "",
    stack: Stacks = "*",
    workload: Workloads = "*",
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Do not pass with undecided cells, or a base that lacks trials."),
    ] = False,
    summary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Append the result to this file, as GitHub's Markdown.")
    ] = None,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML, a test case a cell.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, in SI units.")] = False,
    plugin: PluginOption = None,
) -> None:
    """Fail where a cell of NEW is worse than in BASE by more than the tolerance, beyond doubt.

    A cell stops NEW where its corrected p is below 0.05 and the near end of the interval of its shift is worse by more
    than the tolerance; where more of its trials failed; and where NEW does not have it. A cell with fewer than 8 trials
    on a side is undecided; it stops nothing unless --strict is given, and neither does a BASE that lacks trials. A cell
    that BASE does not have is new, and stops nothing. Where no cell has values in both, NEW does not pass.
    docs/ci.md shows a whole workflow.

    Exit codes: 0 it passes, 1 it does not, 2 bad input.

    \b
    Examples:
      tunbench gate runs/base runs/new
      tunbench gate runs/base runs/new --tolerance 5% --metric throughput,rtt --strict
      tunbench gate runs/base runs/new --summary "$GITHUB_STEP_SUMMARY" --junit gate.xml
    """
    from tunbench.analysis.compare.gate import SIDES
    from tunbench.analysis.compare.gate import gate as judge
    from tunbench.report.export import comparison as exported
    from tunbench.report.export import junit as cases
    from tunbench.report.export import markdown as page
    from tunbench.report.terminal import comparison as shown

    with bad_input_exits(ValueError):
        share = quantity.ratio(tolerance)
    compared = comparison(base, new, metric, stack, workload, SIDES)
    judged = judge(compared, share, strict)
    if summary is not None:
        with unwritable_exits(summary, MEND), files.appended(summary) as file:
            file.write(page.markdown(judged, compared).encode(errors="replace"))
    if junit is not None:
        with unwritable_exits(junit, MEND):
            files.write_named(junit, cases.xml(judged))
    if as_json:
        print_json(exported.gate_as_json(judged, compared))
    else:
        show(screen(), shown.gate(judged, compared))
    raise typer.Exit(0 if judged.passes else STOPPED)
