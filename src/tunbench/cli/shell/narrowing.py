"""The options that narrow a plan or a study, which several commands have."""

from typing import Annotated, Any

import typer

from tunbench.cli.shell import completion

StackOption = Annotated[
    list[str] | None,
    typer.Option(
        "--stack",
        metavar="GLOB",
        help="Only the plan's stacks that match, such as wireguard*; repeat it for more.",
        autocompletion=completion.stacks_of_plan,
    ),
]
WorkloadOption = Annotated[
    list[str] | None,
    typer.Option(
        "--workload",
        metavar="GLOB",
        help="Only the plan's workloads that match, such as ping*; repeat it for more.",
        autocompletion=completion.workloads_of_plan,
    ),
]
ProfileOption = Annotated[
    list[str] | None,
    typer.Option(
        "--profile",
        metavar="GLOB",
        help="Only the plan's profiles that match; repeat it for more.",
        autocompletion=completion.profiles_of_plan,
    ),
]
RepeatsOption = Annotated[
    int | None, typer.Option("--repeats", metavar="N", help="Other repeats than the plan's; with until, at least.")
]


def narrowed_by(
    stack: list[str] | None, workload: list[str] | None, profile: list[str] | None, repeats: int | None
) -> dict[str, Any]:
    """What the options override of a plan; what was not given is None."""
    return {"stack": stack or None, "workload": workload or None, "profile": profile or None, "repeats": repeats}
