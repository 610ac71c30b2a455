"""Options of layers and workloads, declared as data: kind, default, range and what they are for."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from tunbench.runner.declare import quantity

Value = str | int | float | bool
Options = Mapping[str, Value]

MAX_COMPARED, MAX_COMPARED_LENGTH, MAX_LISTED = 2000, 200, 60
"""Known names that an unknown one is compared with, characters of it that are, and known names that are listed."""

MAX_CLOSE = 5
"""Names that have most letters in common with an unknown one: among them the one that was meant is looked for."""

LETTERS_A_MISTAKE = 3
"""A name has one mistake for so many letters at most."""

SHORTEST_PART = 3
"""Letters of a name that stands for a longer one at least."""

SWITCH = {"on": True, "yes": True, "true": True, "off": False, "no": False, "false": False}


def switch(text: str) -> bool:
    """True for `on`, False for `off`. Raises ValueError."""
    if text not in SWITCH:
        raise ValueError(f'"{text}" is neither on nor off')
    return SWITCH[text]


DERIVED = 0
"""The value of an MTU that follows from what is below."""


def mtu(text: str) -> int:
    """The bytes of an MTU; 0 for `derived`. Raises ValueError."""
    return DERIVED if text == "derived" else quantity.count(text)


OPTION_KINDS: dict[str, Callable[[str], Value]] = {
    "duration": quantity.duration,
    "seconds": quantity.seconds,
    "rate": quantity.rate,
    "size": quantity.size,
    "ratio": quantity.ratio,
    "count": quantity.count,
    "mtu": mtu,
    "switch": switch,
    "choice": str,
}


UNITS = {"duration": " s", "seconds": " s", "rate": " bit/s", "size": " B"}
"""The SI unit of each kind that has one, as it stands behind a number."""


class Option(NamedTuple):
    """One option: `default` is written as a user would write it; `low` and `high` are in SI units.

    With `zero`, 0 is allowed besides what is from `low` to `high`, and stands for something else than a quantity.
    """

    kind: str
    default: str
    help: str
    choices: tuple[str, ...] = ()
    low: float = 0
    high: float = float("inf")
    zero: bool = False

    def value(self, text: str) -> Value:
        """What the text says, in SI units. Raises ValueError where it is not allowed."""
        value = OPTION_KINDS[self.kind](text)
        if self.choices and value not in self.choices:
            raise ValueError(f'"{text}" is not one of {", ".join(self.choices)}')
        if text == "derived" and self.kind == "mtu":
            return value
        if self.zero and value == 0:
            return value
        if isinstance(value, int | float) and not self.low <= value <= self.high:
            allowed = f"{'0, or ' if self.zero else ''}{self.low:.15g} to {self.high:.15g}{UNITS.get(self.kind, '')}"
            raise ValueError(f'"{text}" is out of range: allowed is {allowed}')
        return value


def resolve(declared: Mapping[str, Option], given: Mapping[str, str], owner: str) -> dict[str, Value]:
    """The value of every declared option, from what was given and the defaults. Raises ValueError."""
    for name in given:
        if name not in declared:
            raise ValueError(f'{owner} has no option "{name}"{nearest(name, declared)}')
    values = {}
    for name, option in declared.items():
        try:
            values[name] = option.value(given.get(name, option.default))
        except ValueError as error:
            raise ValueError(f"{owner}: option {name}: {error}") from None
    return values


def nearest(name: str, known: Mapping[str, object] | list[str]) -> str:
    """The end of a message about an unknown name: the nearest known one, or all of them, as far as they are few."""
    some = list(known)[:MAX_COMPARED]
    in_lower_case = {one.lower(): one for one in some}
    given = name[:MAX_COMPARED_LENGTH].lower()
    close = get_close_matches(given, in_lower_case, n=MAX_CLOSE, cutoff=0.6)
    if meant := next((one for one in close if _mistyped(given, one)), None):
        return f'; did you mean "{in_lower_case[meant]}"?'
    more = f", and {len(known) - MAX_LISTED} more" if len(known) > MAX_LISTED else ""
    return f"; known: {', '.join(sorted(some)[:MAX_LISTED]) or 'none'}{more}"


def _mistyped(given: str, known: str) -> bool:
    """Whether one name may stand for another: a part of it, or few keys beside it.

    Names that have many letters in common are not alike for that: `police` and `duplicate`, `routines` and `outer`.
    """
    shorter, longer = sorted((given, known), key=len)
    if len(shorter) >= SHORTEST_PART and shorter in longer:
        return True
    return _keys_between(given, known) <= len(longer) // LETTERS_A_MISTAKE


def _keys_between(given: str, known: str) -> int:
    """Letters that were left out, put in, mistaken or exchanged with the next one (Damerau, CACM 7 (3), 1964)."""
    before: list[int] = []
    row = list(range(len(known) + 1))
    for at, letter in enumerate(given, 1):
        before, last, row = row, before, [at]
        for place, other in enumerate(known, 1):
            cost = min(before[place] + 1, row[-1] + 1, before[place - 1] + (letter != other))
            if at > 1 and place > 1 and (letter, given[at - 2]) == (known[place - 2], other):
                cost = min(cost, last[place - 2] + 1)
            row.append(cost)
    return row[-1]
