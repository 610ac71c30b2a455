"""What `include` and `exclude` leave of a plan's product."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import product

from tunbench.plan.places import MistakeAt, shown
from tunbench.runner.options import nearest

AXES = ("topology", "tuning", "machine", "profile", "stack", "workload")
"""What a cell of a plan is known by."""

Pattern = Mapping[str, str]
"""Shell patterns of the values of some axes; all of them must match."""

MOST = 100
"""Tables of `include`, and of `exclude`."""

LONGEST = 200
"""Characters of a pattern: what it takes to read one grows by their square."""

EXAMPLE = '{ stack = "openvpn*", profile = "high" }'


def read_patterns(value: object) -> list[Pattern]:
    """The tables of `include` or `exclude`. Raises MistakeAt."""
    if not isinstance(value, list):
        raise ValueError(f"{shown(value)} is not a list: write for example [{EXAMPLE}]")
    if len(value) > MOST:
        raise ValueError(f"{len(value)} tables are too many: at most {MOST} are allowed")
    for number, table in enumerate(value):
        if not isinstance(table, dict):
            raise MistakeAt(f"{shown(table)} is not a table: write for example {EXAMPLE}", number)
        if not table:
            raise MistakeAt(f"the table is empty: write for example {EXAMPLE}", number)
        for key, pattern in table.items():
            if key not in AXES:
                raise MistakeAt(f'unknown key "{key}"{nearest(key, list(AXES))}', number, key)
            if not isinstance(pattern, str):
                raise MistakeAt(f'{shown(pattern)} is not a pattern: write for example "openvpn*"', number, key)
            if len(pattern) > LONGEST:
                raise MistakeAt(f"a pattern has at most {LONGEST} characters: let * stand for some", number, key)
    return list(value)


def cutting(
    axes: Mapping[str, Sequence[str]], include: Sequence[Pattern], exclude: Sequence[Pattern]
) -> Callable[[Iterable[tuple[str, str]]], bool]:
    """Whether a cell, given as axes with values, matches any of `include`, if there are any, and none of `exclude`.

    The tables that each value matches are known beforehand, as bits of a number: there may be a million cells.
    """
    masks = [
        {(axis, value): _matched(axis, value, tables) for axis, values in axes.items() for value in values}
        for tables in (include, exclude)
    ]

    def kept(cell: Iterable[tuple[str, str]]) -> bool:
        included, excluded = (1 << len(include)) - 1, (1 << len(exclude)) - 1
        for place in cell:
            included &= masks[0][place]
            excluded &= masks[1][place]
        return (not include or included > 0) and not excluded

    return kept


def check(axes: Mapping[str, Sequence[str]], include: Sequence[Pattern], exclude: Sequence[Pattern]) -> None:
    """Raises MistakeAt where a table matches nothing of the product, and where nothing is left of it."""
    for name, tables in (("include", include), ("exclude", exclude)):
        for number, table in enumerate(tables):
            for axis, pattern in table.items():
                if not any(fnmatchcase(value, pattern) for value in axes[axis]):
                    known = nearest(pattern, list(axes[axis]))
                    raise MistakeAt(f"{shown(pattern)} matches no {axis} of this plan{known}", name, number, axis)
    kept = cutting(axes, include, exclude)
    cells = (zip(axes, values, strict=True) for values in product(*axes.values()))
    if (include or exclude) and not any(map(kept, cells)):
        raise MistakeAt("nothing is left of the plan: take one of the tables away", "exclude" if exclude else "include")


def _matched(axis: str, value: str, tables: Sequence[Pattern]) -> int:
    """The tables that a value matches, or that say nothing of its axis, as the bits of a number."""
    return sum(1 << number for number, table in enumerate(tables) if fnmatchcase(value, table.get(axis, "*")))
