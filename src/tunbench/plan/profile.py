"""Reads the profiles of a plan: the name of a shipped one, or an inline table of netem's terms."""

import tomllib
from functools import cache
from importlib.resources import files

from tunbench.plan.places import MistakeAt
from tunbench.plan.shard import Profile
from tunbench.runner import quantity
from tunbench.runner.impairment import PLACEMENTS, TERMS
from tunbench.runner.options import nearest
from tunbench.runner.spelling import NAME

KEYS = ("name", "placement", *TERMS, "reverse")

NEEDS = {
    "jitter": "delay",
    "delay_correlation": "jitter",
    "loss_correlation": "loss",
    "reorder": "delay",
    "reorder_correlation": "reorder",
}
"""Terms that do nothing, or that tc refuses, without another one."""

SLOWEST = 1000
"""Bits a second of the slowest `rate`: the kernel keeps whole bytes a second, and takes less than one as no limit."""

EXAMPLE = '{ name = "wan", delay = "20ms", loss = "0.1%" }'


@cache
def shipped() -> dict[str, Profile]:
    """The profiles that come with Tunbench, by name, from the mildest to the harshest."""
    tables = tomllib.loads(files("tunbench.plan").joinpath("profiles.toml").read_text())
    return {name: _from_table({"name": name, **table}) for name, table in tables.items()}


def read_profile(value: object) -> Profile:
    """The profile that a plan names or writes inline. Raises ValueError; MistakeAt where it is in one key."""
    if isinstance(value, str):
        if value not in shipped():
            raise ValueError(f'unknown profile "{value}"{nearest(value, shipped())}')
        return shipped()[value]
    if isinstance(value, dict):
        return _from_table(value)
    raise ValueError(f"{value!r} is not a profile: write a name, or a table such as {EXAMPLE}")


def _from_table(table: dict[str, object]) -> Profile:
    for key in table:
        if key not in KEYS:
            raise MistakeAt(f'unknown key "{key}"{nearest(key, list(KEYS))}', key)
    forward = _terms({key: value for key, value in table.items() if key in TERMS})
    reverse = _reverse(table["reverse"]) if "reverse" in table else forward
    return Profile(_name(table), forward, reverse, _placement(table.get("placement", PLACEMENTS[0])))


def _name(table: dict[str, object]) -> str:
    if "name" not in table:
        raise ValueError(f"the profile has no name, and results are known by it: write for example {EXAMPLE}")
    name = table["name"]
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise MistakeAt(f'"{name}" is not a name: write lower-case letters, digits and -, a letter first', "name")
    return name


def _placement(value: object) -> str:
    if value not in PLACEMENTS:
        raise MistakeAt(f'unknown placement "{value}"{nearest(str(value), list(PLACEMENTS))}', "placement")
    return str(value)


def _reverse(value: object) -> dict[str, float]:
    if not isinstance(value, dict):
        raise MistakeAt(f'{value!r} is not a table: write for example reverse = {{ delay = "40ms" }}', "reverse")
    try:
        return _terms(value)
    except MistakeAt as mistake:
        raise MistakeAt(str(mistake), "reverse", *mistake.at) from None


def _terms(table: dict[str, object]) -> dict[str, float]:
    terms = {}
    for name, value in table.items():
        if name not in TERMS:
            raise MistakeAt(f'unknown term "{name}"{nearest(name, TERMS)}', name)
        try:
            terms[name] = _term(name, str(value))
        except ValueError as error:
            raise MistakeAt(str(error), name) from None
    for name, needed in NEEDS.items():
        if terms.get(name) and not terms.get(needed):
            raise MistakeAt(f"{name} does nothing without {needed}: write {needed} as well, or take {name} away", name)
    return terms


def _term(name: str, text: str) -> float:
    if TERMS[name].kind == "duration":
        # A bare number is refused: whoever writes 20 has milliseconds in mind as often as seconds.
        quantity.duration(text, bare="")
    value = float(TERMS[name].value(text))
    if name == "rate" and 0 < value < SLOWEST:
        raise ValueError(f'"{text}" is out of range: a rate is at least {SLOWEST} bit/s, or 0 for no limit')
    return value
