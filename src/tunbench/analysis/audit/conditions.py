"""What to beware of in the conditions of a run, and those in which stacks were not judged alike."""

from collections.abc import Iterable, Mapping
from typing import Any

from tunbench.analysis.order import condition_of
from tunbench.journal.record import Record, Warned
from tunbench.plan.axes.machine import FULL_SPEED, Machine
from tunbench.plan.axes.profile import Profile
from tunbench.plan.cautions import LOSSES, Condition, cautions, judges_bundles
from tunbench.runner.declare import access, link, topology

Cell = Mapping[str, Any]


def warned(record: Record) -> list[Warned]:
    """What a plan of these conditions would have been told of."""
    found = (_condition(cell, record) for cell in _cells(record))
    return [Warned(*one) for one in cautions(one for one in found if one)]


def not_comparable(record: Record) -> set[tuple[Any, ...]]:
    """The conditions, as `condition_of` gives them, in which bundles were lost as one packet each."""
    found = {condition_of(cell): _condition(cell, record) for cell in _cells(record)}
    return {key for key, one in found.items() if one and judges_bundles(one.profile, one.link, LOSSES)}


def _cells(record: Record) -> Iterable[Cell]:
    """One cell of each stack under each condition."""
    return {(condition_of(trial.cell), trial.cell["stack"]): trial.cell for trial in record.trials}.values()


def _condition(cell: Cell, record: Record) -> Condition | None:
    """The condition of a cell, where the record holds what its names stand for."""

    def table(axis: str) -> Mapping[str, Any]:
        return record.specs.get(axis, {}).get(cell[axis], {})

    profile, of_link, machine = table("profile"), table("link"), table("machine")
    if not (profile and of_link and machine):
        return None
    return Condition(
        Profile(profile["name"], profile["forward"], profile["reverse"], profile.get("placement", "router")),
        link.of_spec(of_link),
        _machine(machine) if record.clock == "virtual" else None,
        access.of_spec(table("access") or cell["access"]),
        topology.read(cell["topology"]).endpoints,
        cell["stack"],
    )


def _machine(spec: Mapping[str, Any]) -> Machine:
    lacking, modules = (tuple(spec.get(key, ())) for key in ("without", "kernel_without"))
    return Machine(spec["name"], lacking, spec.get("speed", FULL_SPEED), modules)
