"""`tunbench doctor`: what this machine can run, and the mend for what it cannot."""

from typing import Annotated

import typer

from tunbench.cli.shared.plan_options import ExecutorOption
from tunbench.cli.shared.plugin_option import PluginOption
from tunbench.cli.shell.console import screen, show
from tunbench.cli.shell.errors import BAD_INPUT, bad_input_exits
from tunbench.cli.shell.listing import print_json
from tunbench.doctor import examine, workers
from tunbench.doctor.summary import summary
from tunbench.executors.choice import ExecutorError, chosen
from tunbench.labs.image import ImageError
from tunbench.report.terminal import doctor_table


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
    executor: ExecutorOption = None,
    plugin: PluginOption = None,
) -> None:
    """Tell what this machine can run, what it cannot, and what to do first; then the mend for each thing that lacks.

    Exit code 2 where it cannot run the vm lab on the virtual clock, which most plans want. With --executor dask=… it
    tells what each worker of a cluster can run, and has exit code 2 where none can run anything.

    \b
    Examples:
      tunbench doctor
      tunbench doctor --json
      tunbench doctor --executor dask=tcp://10.0.0.1:8786
    """
    with bad_input_exits(ExecutorError, ImageError):
        where = chosen(executor)
        checks = workers.worker_checks(where) if where else examine.host_checks()
    if as_json and where:
        print_json({"checks": [check._asdict() for check in checks]})
    elif where:
        show(screen(), doctor_table.rows(checks))
    elif as_json:
        print_json({**summary(checks)._asdict(), "checks": [check._asdict() for check in checks]})
    else:
        show(screen(), doctor_table.whole(checks))
    if not all(check.ok for check in checks if check.needed):
        raise typer.Exit(BAD_INPUT)
