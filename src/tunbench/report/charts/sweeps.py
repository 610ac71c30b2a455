"""What varies in a run by one number alone: a term of its profiles, or an option of its workloads."""

from collections.abc import Mapping
from typing import NamedTuple

from tunbench.report import units
from tunbench.report.profiles import profiles
from tunbench.report.view import View
from tunbench.runner import invocation
from tunbench.runner.declare import axes
from tunbench.runner.declare.netem_terms import TERMS, number

MIN_VALUES = 3
"""Values of which a sweep has so many at least."""


Others = tuple[tuple[tuple[str, float | str], ...], ...]
"""The terms of both directions that a sweep leaves as they are."""


class Sweep(NamedTuple):
    """What varies, the SI unit of its values, and each value with the condition or workload that has it, rising.

    `where` tells what else these have in common, and is empty where that is nothing.
    """

    title: str
    unit: str
    members: tuple[tuple[float, str], ...]
    where: str = ""


def of_profiles(view: View) -> list[Sweep]:
    """The conditions that differ in one term of netem; one without impairment is the sweep's beginning."""
    terms = _terms(view)
    found: dict[Sweep, None] = {}
    for term in TERMS:
        groups: dict[tuple[tuple[str, ...], Others, tuple[bool, ...]], list[tuple[float, str]]] = {}
        for condition, (rest, both) in terms.items():
            values = [number(one, term) for one in both if TERMS[term].option.kind not in ("choice", "switch")]
            if not values or len({value for value in values if value}) > 1:
                continue
            ways = tuple(bool(value) for value in values)
            others = tuple(tuple(sorted((k, v) for k, v in one.items() if k not in (term, "limit"))) for one in both)
            # What has none of the term begins each sweep: it has no way in which it is impaired.
            for key in [ways] if any(ways) else ((True, True), (True, False), (False, True)):
                groups.setdefault((rest, others, key), []).append((max(values), condition))
        for (rest, _, ways), members in groups.items():
            # Of several profiles with one value the first counts, such as a step of the sweep that has a name besides.
            once = {value: (value, name) for value, name in reversed(members)}.values()
            if len(once) >= MIN_VALUES:
                title = term.replace("_", " ") + WAYS[ways]
                found[Sweep(title, units.OF_KIND[TERMS[term].option.kind], tuple(sorted(once)), " · ".join(rest))] = (
                    None
                )
    return list(found)


WAYS: dict[tuple[bool, ...], str] = {(True, True): " each way", (True, False): " there", (False, True): " back"}


def of_workloads(view: View) -> list[Sweep]:
    """The workloads that differ in the number of one option."""
    groups: dict[tuple[object, ...], list[tuple[float, str]]] = {}
    for workload in view.workloads:
        name = workload.partition(":")[0]
        for option, value in _options(workload).items():
            # 0 may stand for what the system has by itself, which is no number.
            unset = value == 0 and invocation.read(workload).module.ABOUT.options[option].zero
            if isinstance(value, int | float) and not isinstance(value, bool) and not unset:
                others = tuple(sorted((k, str(v)) for k, v in _options(workload).items() if k != option))
                groups.setdefault((name, option, others), []).append((float(value), workload))
    return [
        Sweep(str(option), _unit(str(name), str(option)), tuple(sorted(members)), str(name))
        for (name, option, _), members in groups.items()
        if len(members) >= MIN_VALUES
    ]


def _terms(view: View) -> dict[str, tuple[tuple[str, ...], tuple[Mapping[str, float | str], ...]]]:
    """What each condition has besides its profile, and the terms of both directions without those that are nothing."""
    found: dict[str, tuple[tuple[str, ...], tuple[Mapping[str, float | str], ...]]] = {}
    for run in view.runs:
        known = {profile.name: profile for profile in profiles(run)}
        others = range(1, len(axes.CONDITION))
        varied = [index for index in others if len({key[index] for key in run.conditions}) > 1]
        used = [one for one in known.values() if any((*one.forward.values(), *one.reverse.values()))]
        places = {one.name: f"at {one.placement}" for one in used} if len({one.placement for one in used}) > 1 else {}
        for key, condition in run.conditions.items():
            if key[0] in known:
                both = (known[key[0]].forward, known[key[0]].reverse)
                plain = tuple({name: value for name, value in one.items() if value} for one in both)
                place = [places[key[0]]] if key[0] in places else []
                found[condition] = ((*(str(key[index]) for index in varied), *place), plain)
    return found


def _options(workload: str) -> Mapping[str, object]:
    try:
        return invocation.read(workload).options
    except ValueError:
        return {}


def _unit(workload: str, option: str) -> str:
    return units.OF_KIND.get(invocation.read(workload).module.ABOUT.options[option].kind, "")
