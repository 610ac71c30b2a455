"""What `include` and `exclude` leave of a plan's product."""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import product

from tunbench.plan.places import MistakeAt, shown
from tunbench.runner.options import nearest

AXES = ("topology", "tuning", "machine", "profile", "stack", "workload")
"""What a cell of a plan is known by."""

Pattern = Mapping[str, str]
"""Shell patterns of the values of some axes; all of them must match."""

EXAMPLE = '{ stack = "openvpn*", profile = "high" }'


def read_patterns(value: object) -> list[Pattern]:
    """The tables of `include` or `exclude`. Raises MistakeAt."""
    if not isinstance(value, list):
        raise ValueError(f"{shown(value)} is not a list: write for example [{EXAMPLE}]")
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
    return list(value)


def kept(cell: Pattern, include: Sequence[Pattern], exclude: Sequence[Pattern]) -> bool:
    """Whether a cell matches any of `include`, if there are any, and none of `exclude`."""
    included = not include or any(_matches(cell, one) for one in include)
    return included and not any(_matches(cell, one) for one in exclude)


def check(axes: Mapping[str, Sequence[str]], include: Sequence[Pattern], exclude: Sequence[Pattern]) -> None:
    """Raises MistakeAt where a table matches nothing of the product, and where nothing is left of it."""
    for name, tables in (("include", include), ("exclude", exclude)):
        for number, table in enumerate(tables):
            for axis, pattern in table.items():
                if not any(fnmatchcase(value, pattern) for value in axes[axis]):
                    known = nearest(pattern, list(axes[axis]))
                    raise MistakeAt(f'"{pattern}" matches no {axis} of this plan{known}', name, number, axis)
    cells = (dict(zip(axes, values, strict=True)) for values in product(*axes.values()))
    if (include or exclude) and not any(kept(cell, include, exclude) for cell in cells):
        raise MistakeAt("nothing is left of the plan: take one of the tables away", "exclude" if exclude else "include")


def _matches(cell: Pattern, table: Pattern) -> bool:
    return all(fnmatchcase(cell[axis], pattern) for axis, pattern in table.items())
