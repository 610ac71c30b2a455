"""The options of a plan that several commands have: which one, and what of it is replaced."""

from typing import Annotated

import typer

from tunbench.cli.shell import completion
from tunbench.cli.shell.listing import alternatives
from tunbench.executors import choice as executors
from tunbench.plan.estimate.duration import MAX_WORKERS
from tunbench.plan.model import CLOCKS, LAB_KINDS

PlanArgument = Annotated[
    str,
    typer.Argument(
        metavar="PLAN", help="A plan's file, or the name of a shipped plan.", autocompletion=completion.plans
    ),
]
SeedOption = Annotated[int | None, typer.Option("--seed", metavar="N", help="The seed, instead of the plan's.")]
LabOption = Annotated[
    str | None,
    typer.Option(
        "--lab",
        metavar="KIND",
        help=f"{alternatives(LAB_KINDS)}, instead of the plan's.",
        autocompletion=lambda: list(LAB_KINDS),
    ),
]
ClockOption = Annotated[
    str | None,
    typer.Option(
        "--clock",
        metavar="CLOCK",
        help=f"{alternatives(CLOCKS)}, instead of the plan's.",
        autocompletion=lambda: list(CLOCKS),
    ),
]
ScaleOption = Annotated[
    str | None,
    typer.Option(
        "--scale",
        metavar="SCALE",
        help="One of a study's scales, such as quick; else full.",
        autocompletion=completion.scales_of_plan,
    ),
]
WorkersOption = Annotated[
    int | None,
    typer.Option("--workers", metavar="N", min=1, max=MAX_WORKERS, help="Labs side by side; else one for each core."),
]
ExecutorOption = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="WHERE",
        help=f"{alternatives(executors.SPELLINGS)}: this machine, or Dask's workers.",
        autocompletion=completion.executors,
    ),
]
