"""What `include` and `exclude` leave of a plan's product."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import product

from tunbench.plan.toml.bounds import MAX_CUT_TABLES, MAX_PATTERN_CHARACTERS
from tunbench.plan.toml.mistakes import MistakeAt, quoted
from tunbench.runner.declare.axes import NAMES
from tunbench.runner.declare.options import nearest

Pattern = Mapping[str, str]
"""Shell patterns of the values of some axes; all of them must match."""

Mask = tuple[int, int]
"""The tables of `include` and those of `exclude` that a value does not speak against, as the bits of two numbers."""

Region = tuple[Mapping[str, None], ...]
"""Values of each axis, in its order: every cell of their product is meant."""

EXAMPLE = '{ stack = "openvpn*", profile = "high" }'


def read_patterns(value: object) -> list[Pattern]:
    """The tables of `include` or `exclude`. Raises MistakeAt."""
    if not isinstance(value, list):
        raise ValueError(f"{quoted(value)} is not a list: write for example [{EXAMPLE}]")
    if len(value) > MAX_CUT_TABLES:
        raise ValueError(f"{len(value)} tables are too many: at most {MAX_CUT_TABLES} are allowed")
    for number, table in enumerate(value):
        if not isinstance(table, dict):
            raise MistakeAt(f"{quoted(table)} is not a table: write for example {EXAMPLE}", number)
        if not table:
            raise MistakeAt(f"the table is empty: write for example {EXAMPLE}", number)
        for key, pattern in table.items():
            if key not in NAMES:
                raise MistakeAt(f'unknown key "{key}"{nearest(key, list(NAMES))}', number, key)
            if not isinstance(pattern, str):
                raise MistakeAt(f'{quoted(pattern)} is not a pattern: write for example "openvpn*"', number, key)
            if len(pattern) > MAX_PATTERN_CHARACTERS:
                raise MistakeAt(
                    f"a pattern has at most {MAX_PATTERN_CHARACTERS} characters: let * stand for some", number, key
                )
    return list(value)


def cutting(
    axes: Mapping[str, Sequence[str]], include: Sequence[Pattern], exclude: Sequence[Pattern]
) -> Callable[[Iterable[tuple[str, str]]], bool]:
    """Whether a cell, given as axes with values, matches any of `include`, if there are any, and none of `exclude`.

    The tables that each value matches are known beforehand, as bits of a number: there may be a million cells.
    """
    masks = _masks(axes, include, exclude)

    def kept(cell: Iterable[tuple[str, str]]) -> bool:
        return _left([masks[place] for place in cell], include, exclude)

    return kept


def regions(
    axes: Mapping[str, Sequence[str]], include: Sequence[Pattern], exclude: Sequence[Pattern]
) -> Iterator[Region]:
    """What is left of the product, as products of values that match the same tables: most plans have a few of them."""
    masks = _masks(axes, include, exclude)
    alike: list[dict[Mask, dict[str, None]]] = []
    for axis, values in axes.items():
        groups: dict[Mask, dict[str, None]] = {}
        for value in values:
            groups.setdefault(masks[axis, value], {})[value] = None
        alike.append(groups)
    for region in product(*(groups.items() for groups in alike)):
        if _left([mask for mask, _ in region], include, exclude):
            yield tuple(values for _, values in region)


def check(axes: Mapping[str, Sequence[str]], include: Sequence[Pattern], exclude: Sequence[Pattern]) -> None:
    """Raises MistakeAt where a table matches nothing of the product, and where nothing is left of it."""
    for name, tables in (("include", include), ("exclude", exclude)):
        for number, table in enumerate(tables):
            for axis, pattern in table.items():
                if not any(fnmatchcase(value, pattern) for value in axes[axis]):
                    known = nearest(pattern, list(axes[axis]))
                    raise MistakeAt(f"{quoted(pattern)} matches no {axis} of this plan{known}", name, number, axis)
    if not any(regions(axes, include, exclude)):
        raise MistakeAt("nothing is left of the plan: take one of the tables away", "exclude" if exclude else "include")


def _masks(
    axes: Mapping[str, Sequence[str]], include: Sequence[Pattern], exclude: Sequence[Pattern]
) -> dict[tuple[str, str], Mask]:
    return {
        (axis, value): (_matched(axis, value, include), _matched(axis, value, exclude))
        for axis, values in axes.items()
        for value in values
    }


def _left(masks: Iterable[Mask], include: Sequence[Pattern], exclude: Sequence[Pattern]) -> bool:
    """Whether values of all axes that have these masks are left together."""
    included, excluded = (1 << len(include)) - 1, (1 << len(exclude)) - 1
    for of_include, of_exclude in masks:
        included &= of_include
        excluded &= of_exclude
    return (not include or included > 0) and not excluded


def _matched(axis: str, value: str, tables: Sequence[Pattern]) -> int:
    """The tables that a value matches, or that say nothing of its axis, as the bits of a number."""
    return sum(1 << number for number, table in enumerate(tables) if fnmatchcase(value, table.get(axis, "*")))
