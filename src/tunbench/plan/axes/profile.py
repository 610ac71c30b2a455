"""Reads the profiles of a plan: the name of a shipped one, or an inline table of netem's terms, which may sweep."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from tunbench.plan.axes import named_table
from tunbench.plan.axes.named_table import TableForm
from tunbench.plan.axes.reader import AxisReader
from tunbench.plan.toml.mistakes import MistakeAt, as_written, quoted
from tunbench.plan.toml.tables import alone
from tunbench.runner.declare import quantity
from tunbench.runner.declare.netem_terms import PLACEMENTS, TERMS, complete, number
from tunbench.runner.declare.options import nearest


@dataclass(frozen=True)
class Profile:
    """An impairment of the underlay. `forward` and `reverse` map netem's terms to SI units and words."""

    name: str
    forward: Mapping[str, float | str]
    reverse: Mapping[str, float | str]
    placement: str = "router"

    def spec(self) -> dict[str, Any]:
        """The profile as the runner gets it."""
        return {
            "name": self.name,
            "placement": self.placement,
            "forward": dict(sorted(self.forward.items())),
            "reverse": dict(sorted(self.reverse.items())),
        }


TO_LINK = 'it belongs to the link, which both ends have: write for example link = { name = "line", rate = "50M" }'

MOVED = {
    "rate": TO_LINK,
    "limit": 'a queue belongs to the link: write for example link = { name = "line", rate = "50M", queue = 1000 }',
    **dict.fromkeys(
        ("packetoverhead", "cellsize", "celloverhead"),
        'the link counts it: write for example link = { name = "line", rate = "16M", framing = "atm" }',
    ),
}
"""Keys that a profile once had, and the mend of each."""

FORM = TableForm(
    "profile",
    '{ name = "wan", delay = "20ms", loss = "0.1%" }',
    keys=("name", "placement", *TERMS, "reverse"),
    fixed=[("name",), ("reverse",)],
    moved=MOVED,
)


@cache
def shipped() -> dict[str, Profile]:
    """The profiles that come with Tunbench, by name, from the mildest to the harshest."""
    return named_table.shipped("profiles.toml", _from_table)


def read_profile(value: object) -> Profile:
    """The one profile that a plan names or writes inline. Raises ValueError."""
    profiles = list(read_profiles(value))
    if len(profiles) > 1:
        raise ValueError(f"{value} sweeps over {len(profiles)} profiles")
    return profiles[0]


def read_profiles(value: object) -> Iterator[Profile]:
    """The profiles that an entry of a plan stands for: one, or those of its sweeps, named by the swept values.

    Raises ValueError; MistakeAt where it is in one key.
    """
    return named_table.read_entries(FORM, value, shipped(), _from_table)


def _from_table(table: Mapping[str, Any]) -> Profile:
    forward = _terms({key: value for key, value in table.items() if key in TERMS})
    reverse = _reverse(table["reverse"]) if "reverse" in table else forward
    return Profile(
        named_table.name_of(FORM, table), forward, reverse, _placement(table.get("placement", PLACEMENTS[0]))
    )


def _placement(value: object) -> str:
    if value not in PLACEMENTS:
        raise MistakeAt(f'unknown placement "{value}"{nearest(str(value), list(PLACEMENTS))}', "placement")
    return str(value)


def _reverse(value: object) -> dict[str, float | str]:
    if not isinstance(value, dict):
        raise MistakeAt(f'{quoted(value)} is not a table: write for example reverse = {{ delay = "40ms" }}', "reverse")
    try:
        return _terms(value)
    except MistakeAt as mistake:
        raise MistakeAt(str(mistake), "reverse", *mistake.at) from None


def _terms(table: dict[str, object]) -> dict[str, float | str]:
    terms = {}
    for name, value in table.items():
        if name in MOVED:
            raise MistakeAt(f"{name} is no key of a profile any more: {MOVED[name]}", name)
        if name not in TERMS:
            raise MistakeAt(f'unknown term "{name}"{nearest(name, TERMS)}', name)
        try:
            terms[name] = _term(name, as_written(value))
        except ValueError as error:
            raise MistakeAt(str(error), name) from None
    written = [name for name in TERMS if terms.get(name)]
    for name in written:
        _check_needs(name, terms)
    for name in written:
        _check_excludes(name, terms)
    _contradictions(terms)
    return terms


def _check_needs(name: str, terms: Mapping[str, float | str]) -> None:
    """Raises MistakeAt where a term has no effect for want of another one."""
    needed = TERMS[name].needs
    if needed and not any(terms.get(other) for other in needed):
        one = " or ".join(needed)
        raise MistakeAt(f"{name} does nothing without {one}: write {one} as well, or take {name} away", name)


def _check_excludes(name: str, terms: Mapping[str, float | str]) -> None:
    """Raises MistakeAt where there are two terms of which netem takes one."""
    for other in TERMS[name].excludes:
        if terms.get(other):
            raise MistakeAt(f"netem has either {other} or {name}: take one of them away", name)


def _contradictions(terms: dict[str, float | str]) -> None:
    """Raises MistakeAt for values that netem would take, and make something else of."""
    full = complete(terms)
    for name, other in (("state_p14", "state_p13"), ("state_p32", "state_p31")):
        if number(full, name) + number(full, other) > 1 + 1e-9:
            assumed = "" if other in terms else f" ({other} is 1 - state_p13 where it is not written)"
            raise MistakeAt(f"{other} and {name} are more than 100% together{assumed}", name)
    if number(full, "slot_max_delay") < number(full, "slot_min_delay"):
        raise MistakeAt("slot_max_delay is less than slot_min_delay", "slot_max_delay")


def _term(name: str, text: str) -> float | str:
    if TERMS[name].option.kind == "duration":
        # A bare number is refused: whoever writes 20 has milliseconds in mind as often as seconds.
        quantity.duration(text, bare="")
    value = TERMS[name].option.value(text)
    if isinstance(value, str):
        return value
    return float(value)


READER = AxisReader('profiles = ["baseline", { name = "wan", delay = "20ms" }]', alone(read_profiles))
