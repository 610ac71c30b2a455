"""Finds a plan, reads it, and checks it. Every mistake of a user ends in a PlanError with one line for each mistake."""

import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from tunbench import plain
from tunbench.plan import places, study, tested
from tunbench.plan.lists import EXAMPLES
from tunbench.plan.model import AUTO, Lab, Plan
from tunbench.plan.places import shown
from tunbench.plan.study import FULL, Beside
from tunbench.plan.tested import Mistake
from tunbench.runner.options import nearest

OVERRIDES: dict[str, places.Path] = {
    "seed": ("seed",),
    "lab": ("lab", "kind"),
    "clock": ("lab", "clock"),
    "scale": ("scale",),
}
"""The options of the command line that override a plan, and what of it."""

Model = TypeVar("Model", bound=BaseModel)

LARGEST = 1 << 18
"""Bytes of a plan; the largest that is shipped has some 76,000."""

STEPS = 40
DOTTED = re.compile(rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{STEPS}}}""")
"""A key of more steps than any table has: for those, tomllib takes time with their square."""

DIGITS = re.compile(rf"[0-9_]{{{sys.int_info.default_max_str_digits}}}")
"""As much of a number as Python does not read."""

LARGEST_NUMBER = 10**30
"""What no number of a plan exceeds: TOML's own have 64 bits."""

MOST_OF_SCALES = 5_000
"""Values that the axes of all scales of a plan have together: each scale is read as a plan of its own."""

MOST_LOOKED_AT, MOST_TOLD = 1000, 50
"""Mistakes of a plan that are put into words, and those that are told at once."""

POSITION = re.compile(r" \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$")
"""Where tomllib says that it stopped."""


class PlanError(Exception):
    """A plan cannot be used. The message is for the user: file, line and key, what is wrong, and the mend."""


class Loaded(NamedTuple):
    """A checked plan at one of its scales, the text and the file that it was read from, and what stands beside it.

    `plans` has the plan of every scale.
    """

    plan: Plan
    text: str
    path: Path
    beside: Beside
    scale: str
    plans: Mapping[str, Plan]


def shipped_plans() -> dict[str, Path]:
    """The plans that come with Tunbench, and no study: name and file, sorted by name."""
    return _shipped("plans")


def shipped_studies() -> dict[str, Path]:
    """The studies that come with Tunbench: name and file, sorted by name."""
    return _shipped("studies")


def _shipped(folder: str) -> dict[str, Path]:
    return {path.stem: path for path in sorted(Path(str(files("tunbench.plan").joinpath(folder))).glob("*.toml"))}


def load(
    plan: str, seed: int | None = None, lab: str | None = None, clock: str | None = None, scale: str | None = None
) -> Loaded:
    """Reads the plan of a file or of a shipped name, with what the command line overrides. Raises PlanError."""
    path = find(plan)
    options = {"seed": seed, "lab": lab, "clock": clock, "scale": scale}
    return read(_text(path), path, {name: value for name, value in options.items() if value is not None})


def reference_of(loaded: Loaded) -> Path | None:
    """The file of a study's published numbers: beside the study's own, or else in the package. Raises PlanError.

    None where the plan is no study.
    """
    if loaded.beside.study is None:
        return None
    name, shipped = loaded.beside.study.reference, Path(str(files("tunbench").joinpath("reference")))
    for folder in (loaded.path.parent, shipped):
        if (folder / name).is_file():
            return folder / name
    line = places.line_of(("study", "reference"), places.lines(loaded.text))
    known = nearest(name, [path.name for path in shipped.glob("*.csv")])
    raise PlanError(f'{loaded.path}:{line}: study.reference: there is no file "{name}" beside the study{known}')


def find(plan: str) -> Path:
    """The file of a plan: a path, or else the name of a shipped plan. Raises PlanError."""
    path, known = Path(plan), {**shipped_plans(), **shipped_studies()}
    try:
        if path.is_file():
            return path
    except OSError as error:
        raise PlanError(f"{plan}: cannot be read: {error.strerror}") from None
    if plan in known:
        return known[plan]
    if path.is_dir():
        raise PlanError(f"{plan}: this is a folder: name the plan's file in it")
    if path.exists():
        raise PlanError(f"{plan}: this is a pipe or a device: write the plan to a file, and name that")
    raise PlanError(f"{plan}: there is no such file, and no shipped plan of that name{nearest(path.stem, known)}")


def check(text: str, file: str, overrides: Mapping[str, Any] | None = None) -> Plan:
    """The plan that a TOML text says; `file` is for messages, `overrides` has keys of OVERRIDES. Raises PlanError."""
    return read(text, Path(file), overrides).plan


def read(text: str, path: Path, overrides: Mapping[str, Any] | None = None) -> Loaded:
    """The plan and what stands beside it, as a TOML text says; all of its scales are checked. Raises PlanError.

    `path` is for messages, `overrides` has keys of OVERRIDES.
    """
    overrides = overrides or {}
    data = _parsed(text, str(path))
    known = {key: data.pop(key) for key in study.KEYS if key in data}
    beside, mistakes = _validated(Beside, known)
    scales = beside.scale if beside else {}
    wanted = overrides.get("scale", FULL)
    plans: dict[str, Plan] = {}
    for scale in (FULL, *scales) if beside else (FULL,):
        of_scale = scales.get(scale, {})
        plan, more = _validated(Plan, _override({**data, **of_scale}, overrides))
        mistakes += [one._replace(path=_within(one.path, scale, of_scale)) for one in more]
        if plan is None:
            break
        plans[scale] = plan
        if _values(plans) > MOST_OF_SCALES:
            sentence = f"up to here the scales have more than {MOST_OF_SCALES} values: sweep over less"
            mistakes.append(Mistake(("scale", scale), sentence))
            break
    if beside and not mistakes:
        mistakes += tested.mistakes(beside, plans)
    if mistakes:
        raise PlanError(_report(mistakes, text, str(path), overrides))
    if wanted not in plans or ("scale" in overrides and not scales):
        raise PlanError(_no_scale(str(wanted), scales, str(path)))
    return Loaded(plans[wanted], text, path, beside or Beside(), wanted, plans)


def _validated(model: type[Model], data: Mapping[str, Any]) -> tuple[Model | None, list[Mistake]]:
    try:
        return model.model_validate(data), []
    except ValidationError as error:
        told = error.errors()[:MOST_LOOKED_AT]
        return None, [Mistake(_path(one), _sentence(one), _unnamed(one), one["type"] == "missing") for one in told]


def _values(plans: Mapping[str, Plan]) -> int:
    """How many values the axes of the scales have; those of the plan as it stands do not count."""
    return sum(len(values) for scale, plan in plans.items() if scale != FULL for values in plan.axes.values())


def _within(path: places.Path, scale: str, keys: Mapping[str, Any]) -> places.Path:
    """Where in the file a mistake of a scale's plan is: in the scale's own keys, or in the plan's."""
    return ("scale", scale, *path) if path and path[0] in keys else path


def _no_scale(wanted: str, scales: Mapping[str, Any], file: str) -> str:
    if not scales:
        return f"--scale: {file} has no scales: leave the option away, or write {study.EXAMPLES['scale']}"
    return f'--scale: {file} has no scale "{plain.line(wanted)}"{nearest(wanted, [FULL, *scales])}'


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        _check_size(len(data), str(path))
        # Some editors write a mark of the byte order before the text.
        return data.decode("utf-8-sig")
    except OSError as error:
        raise PlanError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise PlanError(f"{path}: byte {error.start} is not UTF-8: a plan is a text file in UTF-8") from None


def _check_size(size: int, file: str) -> None:
    if size > LARGEST:
        raise PlanError(f"{file}: this is larger than {LARGEST >> 10} KiB, and no plan")


def _parsed(text: str, file: str) -> dict[str, Any]:
    _check_size(len(text), file)
    if line := _first_line(DOTTED, text):
        raise PlanError(f"{file}:{line}: a key of more than {STEPS} steps, such as a.b.c: no table is nested so deeply")
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(_syntax(str(error), text, file)) from None
    except ValueError as error:
        line = _first_line(DIGITS, text)
        raise PlanError(f"{file}:{line}: a number of too many digits" if line else f"{file}: {error}") from None
    except RecursionError:
        raise PlanError(f"{file}: this is not TOML that can be read: it is nested too deeply") from None
    _check_bearable(data, text, file)
    return data


def _first_line(pattern: re.Pattern[str], text: str) -> int | None:
    """The line of the first match."""
    found = pattern.search(text)
    return text.count("\n", 0, found.start()) + 1 if found else None


def _check_bearable(data: dict[str, Any], text: str, file: str) -> None:
    """Raises PlanError where tables and lists are nested more deeply, or a number is larger, than any plan has."""
    waiting: list[tuple[places.Path, object]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        if len(path) > STEPS:
            raise PlanError(f"{file}: this is not TOML that can be read: it is nested too deeply")
        if isinstance(value, dict):
            waiting += [((*path, key), one) for key, one in value.items()]
        elif isinstance(value, list):
            waiting += [((*path, number), one) for number, one in enumerate(value)]
        elif isinstance(value, int) and abs(value) > LARGEST_NUMBER:
            line = places.line_of(path, places.lines(text))
            raise PlanError(f"{file}:{line}: {plain.line(places.written(path))}: a number of too many digits")


def _syntax(message: str, text: str, file: str) -> str:
    position = POSITION.search(message)
    lines = text.rstrip().split("\n")
    line, column = len(lines), len(lines[-1]) + 1
    if position and position["line"]:
        line, column = int(position["line"]), int(position["column"])
    what = POSITION.sub("", message)
    what = what[:1].lower() + what[1:]
    return f"{file}:{line}:{column}: this is not TOML: {what}; compare `tunbench plan show quick --text`"


def _override(data: dict[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The plan's data with what the command line overrides."""
    if "seed" in overrides:
        data["seed"] = overrides["seed"]
    lab = data.get("lab", {})
    if not isinstance(lab, dict) or not {"lab", "clock"} & set(overrides):
        return data
    lab = dict(lab)
    if "lab" in overrides and overrides["lab"] != lab.get("kind", "vm"):
        if overrides["lab"] != AUTO:
            # The clock was chosen for another lab: without --clock, the new one has its own default.
            lab.pop("clock", None)
        lab["kind"] = overrides["lab"]
    if "clock" in overrides:
        lab["clock"] = overrides["clock"]
    return {**data, "lab": lab}


def _report(mistakes: Iterable[Mistake], text: str, file: str, overrides: Mapping[str, Any]) -> str:
    lines = places.lines(text)
    found = []
    for one in mistakes:
        option = next((name for name in overrides if OVERRIDES[name] == one.path), None)
        line = None if option or (one.missing and len(one.path) == 1) else places.line_of(one.path, lines)
        place = f"--{option}" if option else f"{file}:{line}" if line else file
        key = "" if option or not one.path or one.unnamed else f"{places.written(one.path)}: "
        found.append((line or 0, f"{place}: {plain.line(key + one.sentence)}"))
    told = list(dict.fromkeys(text for _, text in sorted(found, key=lambda pair: pair[0])))
    more = [f"{file}: and {len(told) - MOST_TOLD} more mistakes"] if len(told) > MOST_TOLD else []
    return "\n".join([*told[:MOST_TOLD], *more])


def _unnamed(mistake: Any) -> bool:
    """Whether the sentence names the key itself."""
    return mistake["type"] in ("missing", "extra_forbidden")


def _path(mistake: Any) -> places.Path:
    cause = mistake.get("ctx", {}).get("error")
    return (*mistake["loc"], *(cause.at if isinstance(cause, places.MistakeAt) else ()))


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


def _example(path: places.Path) -> str:
    """How the key at a path is written."""
    return study.EXAMPLES.get(study.dotted(path)) or EXAMPLES[str(path[-1])]


def _unknown(path: places.Path) -> str:
    key = str(path[-1])
    if study.dotted(path[:-1]) in study.MODELS:
        return study.unknown(path)
    if path[0] == "lab" and len(path) > 1:
        if key in Plan.model_fields:
            return f'"{key}" stands in the table [lab]: move it above the line [lab]'
        return f'unknown key "{key}" in [lab]{nearest(key, Lab.model_fields)}'
    return f'unknown key "{key}"{nearest(key, [*Plan.model_fields, *study.KEYS])}'
