"""The options that narrow a plan or a study, which several commands have."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from tunbench.cli.shell import completion


def _glob(axis: str, example: str, complete: Callable[[typer.Context, str], list[str]]) -> Any:
    such = f", such as {example}" if example else ""
    return typer.Option(
        f"--{axis}",
        metavar="GLOB",
        help=f"Only the plan's {axis}s that match{such}; repeat it for more.",
        autocompletion=complete,
    )


StackOption = Annotated[list[str] | None, _glob("stack", "wireguard*", completion.stacks_of_plan)]
WorkloadOption = Annotated[list[str] | None, _glob("workload", "ping*", completion.workloads_of_plan)]
ProfileOption = Annotated[list[str] | None, _glob("profile", "", completion.profiles_of_plan)]
RepeatsOption = Annotated[
    int | None, typer.Option("--repeats", metavar="N", help="Other repeats than the plan's; with until, at least.")
]


def narrowed_by(
    stack: list[str] | None, workload: list[str] | None, profile: list[str] | None, repeats: int | None
) -> dict[str, Any]:
    """What the options override of a plan; what was not given is None."""
    return {"stack": stack or None, "workload": workload or None, "profile": profile or None, "repeats": repeats}
