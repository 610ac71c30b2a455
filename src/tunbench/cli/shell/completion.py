"""What a shell completes: names of what there is, and of what a plan on the same line has."""

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

import typer

from tunbench.executors import choice
from tunbench.journal import journal
from tunbench.labs.vm.image_definition import ADDONS, BASE
from tunbench.plan.load import PlanError, load, shipped_plans, shipped_studies
from tunbench.runner import registry
from tunbench.toolbox.brought_programs import declared_programs
from tunbench.toolbox.tools import TOOLS

MOST_FOLDERS = 1_000
"""Entries of a folder that are looked at: whoever presses a key does not wait."""


def plans(incomplete: str) -> list[str]:
    """Shipped plans and studies, and files that may be one."""
    return _beginning(incomplete, [*shipped_plans(), *shipped_studies()]) + _paths(incomplete, _may_be_plan)


def studies(incomplete: str) -> list[str]:
    """Shipped studies, and files that may be one."""
    return _beginning(incomplete, shipped_studies()) + _paths(incomplete, _may_be_plan)


def runs(incomplete: str) -> list[str]:
    """Folders of runs, those in `runs` first, and folders that lead to some."""
    shelf = _paths("runs/", _is_run) if not incomplete and Path("runs").is_dir() else []
    return [*shelf, *_paths(incomplete, _is_run)]


def packed_runs(incomplete: str) -> list[str]:
    """Folders of runs, and archives that may hold one."""
    return [*runs(incomplete), *_paths(incomplete, lambda path: path.name.endswith(".tar.bz2"), folders=False)]


def executors(incomplete: str) -> list[str]:
    """Ways to hand out shards, as far as they can be written before an address is known."""
    return _beginning(incomplete, choice.BEGINNINGS)


def images(incomplete: str) -> list[str]:
    """Images that can be built."""
    return _beginning(incomplete, [BASE.name, *ADDONS])


def tools(incomplete: str) -> list[str]:
    """Tools of the toolbox."""
    return _beginning(incomplete, TOOLS)


def beyond_base(incomplete: str) -> list[str]:
    """What a VM may have beyond the base image: add-ons, tools, and programs that a user brings."""
    return _beginning(incomplete, [*ADDONS, *TOOLS, *sorted(declared_programs())])


def tunnels(incomplete: str) -> list[str]:
    """Tunnels, behind the + of a stack that has been begun."""
    below, plus, last = incomplete.rpartition("+")
    return [f"{below}{plus}{name}" for name in _beginning(last, registry.tunnel_names())]


def stacks_of_plan(ctx: typer.Context, incomplete: str) -> list[str]:
    """The stacks of the plan on the same line; without one, tunnels."""
    return _of_plan(ctx, "stack", incomplete) or tunnels(incomplete)


def workloads_of_plan(ctx: typer.Context, incomplete: str) -> list[str]:
    """The workloads of the plan on the same line; without one, all."""
    return _of_plan(ctx, "workload", incomplete) or _beginning(incomplete, registry.workload_names())


def profiles_of_plan(ctx: typer.Context, incomplete: str) -> list[str]:
    """The profiles of the plan on the same line; without one, those that are shipped."""
    from tunbench.plan.axes.profile import shipped

    return _of_plan(ctx, "profile", incomplete) or _beginning(incomplete, shipped())


def scales_of_plan(ctx: typer.Context, incomplete: str) -> list[str]:
    """The scales of the plan on the same line."""
    name = _plan_on_line(ctx)
    try:
        return _beginning(incomplete, load(name).plans) if name else []
    except PlanError:
        return []


def _of_plan(ctx: typer.Context, axis: str, incomplete: str) -> list[str]:
    name = _plan_on_line(ctx)
    try:
        return _beginning(incomplete, load(name).plan.axes[axis]) if name else []
    except PlanError:
        return []


def _plan_on_line(ctx: typer.Context) -> str:
    """The plan that stands before the option whose value is completed; where that one lacks it, no word is read yet."""
    return str(ctx.params.get("plan") or ctx.params.get("name") or next(iter(ctx.args), ""))


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _may_be_plan(path: Path) -> bool:
    return path.suffix == ".toml"


def _is_run(path: Path) -> bool:
    return (path / journal.NAME).is_file()


def _paths(incomplete: str, wanted: Callable[[Path], bool], folders: bool = True) -> list[str]:
    """What is wanted of what a path has been begun with; and folders, which may lead to some."""
    above, _, begun = incomplete.rpartition("/")
    folder = Path(f"{above}/" if "/" in incomplete else ".")
    prefix = f"{above}/" if "/" in incomplete else ""
    found = []
    for entry in sorted(islice(_entries(folder), MOST_FOLDERS)):
        path = folder / entry
        if not entry.startswith(begun) or (entry.startswith(".") and not begun):
            continue
        if wanted(path):
            found.append(prefix + entry)
        elif folders and path.is_dir():
            found.append(f"{prefix}{entry}/")
    return found


def _entries(folder: Path) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            yield from (entry.name for entry in entries)
    except OSError:
        return
