"""The mistakes of a plan: what pydantic finds, and each in words, with the line of the file and the mend."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from tunbench import plain_text
from tunbench.plan.axes.lists import EXAMPLES
from tunbench.plan.model import Lab, Plan
from tunbench.plan.study import schema
from tunbench.plan.toml import positions
from tunbench.plan.toml.positions import shown
from tunbench.runner.declare.options import nearest

MOST_LOOKED_AT, MOST_TOLD = 1000, 50
"""Mistakes of a plan that are put into words, and those that are told at once."""

Model = TypeVar("Model", bound=BaseModel)


class Mistake(NamedTuple):
    """What is wrong at a path of a plan's file: `unnamed` if the sentence names the key, `missing` if it is not there.

    An `absence` is a cell that the plan does not have.
    """

    path: positions.Path
    sentence: str
    unnamed: bool = False
    missing: bool = False
    absence: bool = False


def validated(model: type[Model], data: Mapping[str, Any]) -> tuple[Model | None, list[Mistake]]:
    """What the data say as such a model; or none, and the mistakes in them."""
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        found = error.errors()[:MOST_LOOKED_AT]
        return None, [Mistake(_path(one), _sentence(one), _unnamed(one), one["type"] == "missing") for one in found]


def told(mistakes: Iterable[Mistake], text: str, file: str, options: Mapping[positions.Path, str]) -> str:
    """One line for each mistake, in the order of the file; `options` of the command line gave the values at paths."""
    lines = positions.lines(text)
    found = []
    for one in mistakes:
        option = options.get(one.path)
        line = None if option or (one.missing and len(one.path) == 1) else positions.line_of(one.path, lines)
        place = f"--{option}" if option else f"{file}:{line}" if line else file
        key = "" if option or not one.path or one.unnamed else f"{positions.written(one.path)}: "
        found.append((line or 0, f"{place}: {plain_text.line(key + one.sentence)}"))
    ordered = list(dict.fromkeys(text for _, text in sorted(found, key=lambda pair: pair[0])))
    more = [f"{file}: and {len(ordered) - MOST_TOLD} more mistakes"] if len(ordered) > MOST_TOLD else []
    return "\n".join([*ordered[:MOST_TOLD], *more])


def _unnamed(mistake: Any) -> bool:
    """Whether the sentence names the key itself."""
    return mistake["type"] in ("missing", "extra_forbidden")


def _path(mistake: Any) -> positions.Path:
    cause = mistake.get("ctx", {}).get("error")
    return (*mistake["loc"], *(cause.at if isinstance(cause, positions.MistakeAt) else ()))


def _sentence(mistake: Any) -> str:
    path = mistake["loc"]
    match mistake["type"]:
        case "missing":
            return f'the key "{path[-1]}" is missing: write for example {_example(path)}'
        case "extra_forbidden":
            return _unknown(path)
        case "list_type":
            return f"{shown(mistake['input'])} is not a list: write for example {_example(path)}"
        case "model_type":
            return f"{shown(mistake['input'])} is not a table: write for example {_example(path)}"
        case _:
            return str(mistake.get("ctx", {}).get("error", mistake["msg"]))


def _example(path: positions.Path) -> str:
    """How the key at a path is written."""
    return schema.EXAMPLES.get(schema.dotted(path)) or EXAMPLES[str(path[-1])]


def _unknown(path: positions.Path) -> str:
    key = str(path[-1])
    if schema.dotted(path[:-1]) in schema.MODELS:
        return schema.unknown(path)
    if path[0] == "lab" and len(path) > 1:
        if key in Plan.model_fields:
            return f'"{key}" stands in the table [lab]: move it above the line [lab]'
        return f'unknown key "{key}" in [lab]{nearest(key, Lab.model_fields)}'
    return f'unknown key "{key}"{nearest(key, [*Plan.model_fields, *schema.KEYS])}'
