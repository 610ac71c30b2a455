"""Reads what a plan names or writes as a table with a name, which may sweep: profiles, links, tunings, machines."""

import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from importlib.resources import files
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

from tunbench.plan.axes import sweep
from tunbench.plan.toml.bounds import MAX_NAME_CHARACTERS
from tunbench.plan.toml.mistakes import MistakeAt, as_written, quoted
from tunbench.plan.toml.positions import Path
from tunbench.runner.declare import quantity
from tunbench.runner.declare.options import nearest
from tunbench.runner.declare.spelling import NAME


class Named(Protocol):
    """A dataclass with a name."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def name(self) -> str:
        """The name."""


One = TypeVar("One", bound=Named)
TomlTable = Mapping[str, Any]


class TableForm(NamedTuple):
    """What is read: its name in messages, an example, its keys, and those that are taken as they are.

    `name` is what the name of one may look like, and `name_letters` says so in words; `moved` are keys that it once
    had, each with the mend, and `elsewhere` keys of something else, each with a sentence.
    """

    what: str
    example: str
    keys: tuple[str, ...]
    fixed: Collection[Path]
    name: re.Pattern[str] = NAME
    name_letters: str = "lower-case letters, digits and -, a letter first"
    moved: Mapping[str, str] = MappingProxyType({})
    elsewhere: Mapping[str, str] = MappingProxyType({})


def shipped(file: str, read: Callable[[TomlTable], One]) -> dict[str, One]:
    """What comes with Tunbench in a file beside the plans' modules, by name, in the file's order."""
    tables = tomllib.loads(files("tunbench.plan").joinpath(file).read_text(encoding="utf-8"))
    return {name: read({"name": name, **table}) for name, table in tables.items()}


def read_entries(
    form: TableForm, value: object, there: Mapping[str, One], read: Callable[[TomlTable], One]
) -> Iterator[One]:
    """What an entry of a plan stands for: one that is shipped, one that is written, or those of its sweeps.

    They are named by the swept values. Raises ValueError; MistakeAt where it is in one key.
    """
    if isinstance(value, str):
        if value not in there:
            raise ValueError(f'unknown {form.what} "{value}"{nearest(value, dict(there))}')
        yield there[value]
        return
    if not isinstance(value, dict):
        article = "an" if form.what[0] in "aeiou" else "a"
        raise ValueError(
            f"{quoted(value)} is not {article} {form.what}: write a name, or a table such as {form.example}"
        )
    # Before its sweeps are read: there may be as many unknown keys as a plan has room for.
    for key in form.moved:
        if key in value:
            raise MistakeAt(f"{key} is no key of a {form.what} any more: {form.moved[key]}", key)
    for key, sentence in form.elsewhere.items():
        if key in value:
            raise MistakeAt(sentence, key)
    check_keys(value, form.keys)
    for one in sweep.tables(value, fixed=form.fixed):
        thing = read(one.table)
        yield replace(thing, name=one.name(thing.name))


def check_new(form: TableForm, value: object, there: Mapping[str, One]) -> None:
    """Raises MistakeAt where a table takes the name of one that is shipped."""
    if isinstance(value, dict) and value.get("name") in list(there):
        raise MistakeAt(f'"{value["name"]}" is the name of a shipped {form.what}: take another', "name")


def check_keys(table: TomlTable, keys: Collection[str], *above: str) -> None:
    """Raises MistakeAt where a table has another key than these."""
    for key in table:
        if key not in keys:
            raise MistakeAt(f'unknown key "{key}"{nearest(key, list(keys))}', *above, key)


def name_of(form: TableForm, table: TomlTable) -> str:
    """The name in a table. Raises ValueError where there is none, MistakeAt where it is none."""
    if "name" not in table:
        raise ValueError(f"the {form.what} has no name, and results are known by it: write for example {form.example}")
    name = table["name"]
    if isinstance(name, str) and len(name) > MAX_NAME_CHARACTERS:
        raise MistakeAt(f"{quoted(name)} has {len(name)} characters: at most {MAX_NAME_CHARACTERS} are allowed", "name")
    if not isinstance(name, str) or not form.name.fullmatch(name):
        raise MistakeAt(f"{quoted(name)} is not a name: write {form.name_letters}", "name")
    return name


def one_of(table: TomlTable, key: str, choices: Collection[str], usual: str) -> str:
    """The word at a key, or the usual one where there is none. Raises MistakeAt."""
    value = table.get(key, usual)
    if not isinstance(value, str) or value not in choices:
        raise MistakeAt(f"unknown {key} {quoted(value)}{nearest(str(value), list(choices))}", key)
    return value


def duration_of(table: TomlTable, key: str, longest: float) -> float:
    """The seconds at a key, 0 where there is none. Raises MistakeAt, also where they are more than the longest."""
    try:
        found = quantity.duration(as_written(table.get(key, "0s")), bare="")
    except ValueError as error:
        raise MistakeAt(str(error), key) from None
    if not 0 <= found <= longest:
        raise MistakeAt(f'"{table[key]}" is out of range: a {key} is 0 to {longest:g} s', key)
    return found
