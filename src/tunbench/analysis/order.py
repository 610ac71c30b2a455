"""The order in which stacks and conditions are shown: that of the plan, with each bare underlay before its stacks."""

from collections.abc import Iterable
from typing import Any

from tunbench.analysis.ratios import is_baseline, underlay
from tunbench.analysis.verdicts import place
from tunbench.journal.record import Record
from tunbench.plan.axes.profile import shipped
from tunbench.runner.declare import axes

KINDS = ("", "ip", "ip6", "ethernet")
"""The kinds of underlay in the order in which their stacks are shown; that of an unknown stack is empty."""


def stacks(record: Record) -> list[str]:
    """The stacks of a run: those over IP, over IPv6 and over Ethernet, each kind led by its `none`.

    Within a kind they stand as the manifest's plan lists them, and then as they appear in the record.
    """
    listed = [name for name in _listed(record, "stacks") if isinstance(name, str)]
    there = list(dict.fromkeys(trial.cell["stack"] for trial in record.trials))
    ordered = _first(listed, there)
    return sorted(ordered, key=lambda stack: (KINDS.index(underlay(stack)), not is_baseline(stack)))


def conditions(record: Record) -> dict[tuple[Any, ...], str]:
    """The name of each condition by its values of axes.CONDITION, in the order of the plan.

    Where the manifest does not list the profiles, they are in the order in which they are shipped.

    It is the name of the profile, followed by those of the other values that vary in this run. Where two conditions
    would have one name, all tell which value is whose.
    """
    there = list(dict.fromkeys(place(trial.cell) for trial in record.trials))
    listed = [*(profile_name(entry) for entry in _listed(record, "profiles")), *shipped()]
    profiles = _first(listed, [values[0] for values in there])
    varied = [index for index in range(1, len(axes.CONDITION)) if len({values[index] for values in there}) > 1]
    orders = {0: profiles}
    for index, axis in list(enumerate(axes.CONDITION))[1:]:
        named = [profile_name(entry) for entry in _listed(record, f"{axis}s")]
        orders[index] = _first(named, [values[index] for values in there])
    places = {index: {name: at for at, name in enumerate(names)} for index, names in orders.items()}
    ordered = sorted(there, key=lambda values: [of[values[index]] for index, of in places.items()])
    names = {values: " · ".join(str(values[index]) for index in (0, *varied)) for values in ordered}
    if len(set(names.values())) == len(ordered):
        return names
    return {
        values: " · ".join(f"{axes.CONDITION[index]}={values[index]!r}" for index in (0, *varied)) for values in ordered
    }


def profile_name(entry: Any) -> str:
    """The name of a profile, which a plan names or writes as a table."""
    return str(entry.get("name", "")) if isinstance(entry, dict) else str(entry)


def _listed(record: Record, key: str) -> list[Any]:
    plan = record.manifest.get("plan")
    entries = plan.get(key) if isinstance(plan, dict) else None
    return entries if isinstance(entries, list) else []


def _first(listed: Iterable[str], there: list[str]) -> list[str]:
    """What is there, beginning with what is listed."""
    known = set(there)
    return [name for name in dict.fromkeys([*listed, *there]) if name in known]
