"""Finds a plan, reads it, and checks it. Every mistake of a user ends in a PlanError with one line for each mistake."""

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from tunbench.plan import places
from tunbench.plan.lists import EXAMPLES
from tunbench.plan.model import Lab, Plan
from tunbench.plan.places import shown
from tunbench.runner.options import nearest

OVERRIDES: dict[str, places.Path] = {"seed": ("seed",), "lab": ("lab", "kind"), "clock": ("lab", "clock")}
"""The options of the command line that override a plan, and what of it."""

POSITION = re.compile(r" \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$")
"""Where tomllib says that it stopped."""


class PlanError(Exception):
    """A plan cannot be used. The message is for the user: file, line and key, what is wrong, and the mend."""


class Loaded(NamedTuple):
    """A checked plan, and the text and the file that it was read from."""

    plan: Plan
    text: str
    path: Path


def shipped_plans() -> dict[str, Path]:
    """The plans that come with Tunbench: name and file, sorted by name."""
    folder = Path(str(files("tunbench.plan").joinpath("plans")))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def load(plan: str, seed: int | None = None, lab: str | None = None, clock: str | None = None) -> Loaded:
    """Reads the plan of a file or of a shipped name, with what the command line overrides. Raises PlanError."""
    path = find(plan)
    text = _text(path)
    options = {"seed": seed, "lab": lab, "clock": clock}
    given = {name: value for name, value in options.items() if value is not None}
    return Loaded(check(text, str(path), given), text, path)


def find(plan: str) -> Path:
    """The file of a plan: a path, or else the name of a shipped plan. Raises PlanError."""
    path, known = Path(plan), shipped_plans()
    try:
        if path.is_file():
            return path
    except OSError as error:
        raise PlanError(f"{plan}: cannot be read: {error.strerror}") from None
    if plan in known:
        return known[plan]
    if path.is_dir():
        raise PlanError(f"{plan}: this is a folder: name the plan's file in it")
    raise PlanError(f"{plan}: there is no such file, and no shipped plan of that name{nearest(path.stem, known)}")


def check(text: str, file: str, overrides: Mapping[str, Any] | None = None) -> Plan:
    """The plan that a TOML text says; `file` is for messages, `overrides` has keys of OVERRIDES. Raises PlanError."""
    overrides = overrides or {}
    data = _parsed(text, file)
    _override(data, overrides)
    try:
        return Plan.model_validate(data)
    except ValidationError as error:
        raise PlanError(_report(error, text, file, overrides)) from None


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except OSError as error:
        raise PlanError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise PlanError(f"{path}: byte {error.start} is not UTF-8: a plan is a text file in UTF-8") from None


def _parsed(text: str, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(_syntax(str(error), text, file)) from None
    except RecursionError:
        raise PlanError(f"{file}: this is not TOML that can be read: it is nested too deeply") from None


def _syntax(message: str, text: str, file: str) -> str:
    position = POSITION.search(message)
    lines = text.rstrip().splitlines() or [""]
    line, column = len(lines), len(lines[-1]) + 1
    if position and position["line"]:
        line, column = int(position["line"]), int(position["column"])
    what = POSITION.sub("", message)
    what = what[:1].lower() + what[1:]
    return f"{file}:{line}:{column}: this is not TOML: {what}; compare `tunbench plan show quick --text`"


def _override(data: dict[str, Any], overrides: Mapping[str, Any]) -> None:
    if "seed" in overrides:
        data["seed"] = overrides["seed"]
    lab = data.setdefault("lab", {}) if "lab" in overrides or "clock" in overrides else {}
    if not isinstance(lab, dict):
        return
    if "lab" in overrides and overrides["lab"] != lab.get("kind", "vm"):
        # The clock was chosen for another lab: without --clock, the new one has its own default.
        lab.pop("clock", None)
        lab["kind"] = overrides["lab"]
    if "clock" in overrides:
        lab["clock"] = overrides["clock"]


def _report(error: ValidationError, text: str, file: str, overrides: Mapping[str, Any]) -> str:
    lines = places.lines(text)
    found = []
    for mistake in error.errors():
        path, sentence = _path(mistake), _sentence(mistake)
        option = next((name for name in overrides if OVERRIDES[name] == path), None)
        line = None if option or mistake["type"] == "missing" else places.line_of(path, lines)
        place = f"--{option}" if option else f"{file}:{line}" if line else file
        unnamed = option or not path or mistake["type"] in ("missing", "extra_forbidden")
        key = "" if unnamed else f"{places.written(path)}: "
        found.append((line or 0, f"{place}: {key}{sentence}"))
    return "\n".join(text for _, text in sorted(found, key=lambda pair: pair[0]))


def _path(mistake: Any) -> places.Path:
    cause = mistake.get("ctx", {}).get("error")
    return (*mistake["loc"], *(cause.at if isinstance(cause, places.MistakeAt) else ()))


def _sentence(mistake: Any) -> str:
    path = mistake["loc"]
    match mistake["type"]:
        case "missing":
            return f'the key "{path[-1]}" is missing: write for example {EXAMPLES[path[-1]]}'
        case "extra_forbidden":
            return _unknown(path)
        case "list_type":
            return f"{shown(mistake['input'])} is not a list: write for example {EXAMPLES[path[-1]]}"
        case "model_type":
            return f"{shown(mistake['input'])} is not a table: write for example {EXAMPLES[path[-1]]}"
        case _:
            return str(mistake.get("ctx", {}).get("error", mistake["msg"]))


def _unknown(path: places.Path) -> str:
    key = str(path[-1])
    if path[0] == "lab" and len(path) > 1:
        if key in Plan.model_fields:
            return f'"{key}" stands in the table [lab]: move it above the line [lab]'
        return f'unknown key "{key}" in [lab]{nearest(key, Lab.model_fields)}'
    return f'unknown key "{key}"{nearest(key, Plan.model_fields)}'
