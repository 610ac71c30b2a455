"""Reads what a plan names or writes as a table with a name: profiles, tunings and machines, which may sweep."""

import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from importlib.resources import files
from typing import Any, NamedTuple, TypeVar

from tunbench.plan.axes import sweep
from tunbench.plan.shard import Machine, Profile, Tuning
from tunbench.plan.toml.positions import MistakeAt, Path, shown
from tunbench.runner.declare.options import nearest
from tunbench.runner.declare.spelling import NAME

LONGEST = 64
"""Characters of a name, as of a plan's."""

One = TypeVar("One", Profile, Tuning, Machine)
Table = Mapping[str, Any]


class Kind(NamedTuple):
    """What is read: its name in messages, an example, its keys, and those that are taken as they are."""

    what: str
    example: str
    keys: tuple[str, ...]
    fixed: Collection[Path]


def shipped(file: str, read: Callable[[Table], One]) -> dict[str, One]:
    """What comes with Tunbench in a file beside the plans' modules, by name, in the file's order."""
    tables = tomllib.loads(files("tunbench.plan").joinpath(file).read_text(encoding="utf-8"))
    return {name: read({"name": name, **table}) for name, table in tables.items()}


def entries(kind: Kind, value: object, there: Mapping[str, One], read: Callable[[Table], One]) -> Iterator[One]:
    """What an entry of a plan stands for: one that is shipped, one that is written, or those of its sweeps.

    They are named by the swept values. Raises ValueError; MistakeAt where it is in one key.
    """
    if isinstance(value, str):
        if value not in there:
            raise ValueError(f'unknown {kind.what} "{value}"{nearest(value, dict(there))}')
        yield there[value]
        return
    if not isinstance(value, dict):
        raise ValueError(f"{shown(value)} is not a {kind.what}: write a name, or a table such as {kind.example}")
    # Before its sweeps are read: there may be as many unknown keys as a plan has room for.
    known(value, kind.keys)
    for one in sweep.tables(value, fixed=kind.fixed):
        thing = read(one.table)
        yield replace(thing, name=one.name(thing.name))


def check_new(kind: Kind, value: object, there: Mapping[str, One]) -> None:
    """Raises MistakeAt where a table takes the name of one that is shipped."""
    if isinstance(value, dict) and value.get("name") in list(there):
        raise MistakeAt(f'"{value["name"]}" is the name of a shipped {kind.what}: take another', "name")


def known(table: Table, keys: Collection[str], *above: str) -> None:
    """Raises MistakeAt where a table has another key than these."""
    for key in table:
        if key not in keys:
            raise MistakeAt(f'unknown key "{key}"{nearest(key, list(keys))}', *above, key)


def name_of(kind: Kind, table: Table) -> str:
    """The name in a table. Raises ValueError where there is none, MistakeAt where it is none."""
    if "name" not in table:
        raise ValueError(f"the {kind.what} has no name, and results are known by it: write for example {kind.example}")
    name = table["name"]
    if not isinstance(name, str) or not NAME.fullmatch(name) or len(name) > LONGEST:
        raise MistakeAt(f"{shown(name)} is not a name: write lower-case letters, digits and -, a letter first", "name")
    return name
