"""The order in which stacks and conditions are shown: that of the plan, with each bare underlay before its stacks."""

from collections.abc import Iterable, Mapping
from typing import Any

from tunbench.analysis.ratios import is_baseline, underlay
from tunbench.journal.record import Record
from tunbench.plan.axes.profile import shipped
from tunbench.runner.declare import axes
from tunbench.runner.network.underlay import UNDERLAY_KINDS

UNDERLAYS = ("", *UNDERLAY_KINDS)
"""The kinds of underlay in the order in which their stacks are shown; that of an unknown stack is empty."""


def stacks(record: Record) -> list[str]:
    """The stacks of a run: those over IP, over IPv6 and over Ethernet, each kind led by its `none`.

    Within a kind they stand as the manifest's plan lists them, and then as they appear in the record.
    """
    listed = [name for name in record.listed("stacks") if isinstance(name, str)]
    there = list(dict.fromkeys(trial.cell["stack"] for trial in record.trials))
    return by_underlay(_first(listed, there))


def by_underlay(stacks: Iterable[str]) -> list[str]:
    """Stacks by the kind of their underlay, each kind led by its `none`; within a kind they keep their order."""
    return sorted(stacks, key=lambda stack: (UNDERLAYS.index(underlay(stack)), not is_baseline(stack)))


def conditions(record: Record) -> dict[tuple[Any, ...], str]:
    """The name of each condition as `condition_of` gives it, in the order of the plan.

    Where the manifest does not list the profiles, they are in the order in which they are shipped.

    It is the name of the profile, followed by those of the other values that vary in this run. Where two conditions
    would have one name, all tell which value is whose.
    """
    there = list(dict.fromkeys(condition_of(trial.cell) for trial in record.trials))
    ranks = []
    for index, axis in enumerate(axes.CONDITION):
        listed = [profile_name(entry) for entry in record.listed(f"{axis}s")]
        listed += shipped() if axis == "profile" else []
        names_there = _first(listed, [values[index] for values in there])
        ranks.append({name: rank for rank, name in enumerate(names_there)})
    ordered = sorted(there, key=lambda values: [rank[value] for rank, value in zip(ranks, values, strict=True)])
    varied = [index for index in range(1, len(axes.CONDITION)) if len({values[index] for values in there}) > 1]
    names = {values: " · ".join(str(values[index]) for index in (0, *varied)) for values in ordered}
    if len(set(names.values())) == len(ordered):
        return names
    return {
        values: " · ".join(f"{axes.CONDITION[index]}={values[index]!r}" for index in (0, *varied)) for values in ordered
    }


def condition_of(cell: Mapping[str, Any]) -> tuple[Any, ...]:
    """The condition of a cell: its values of axes.CONDITION."""
    return tuple(cell[axis] for axis in axes.CONDITION)


def profile_name(entry: Any) -> str:
    """The name of a profile, which a plan names or writes as a table."""
    return str(entry.get("name", "")) if isinstance(entry, dict) else str(entry)


def _first(listed: Iterable[str], there: list[str]) -> list[str]:
    """What is there, beginning with what is listed."""
    known = set(there)
    return [name for name in dict.fromkeys([*listed, *there]) if name in known]
