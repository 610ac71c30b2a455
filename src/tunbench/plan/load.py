"""Finds a plan, reads it, and checks it. Every mistake of a user ends in a PlanError with one line for each mistake."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tunbench import plain_text
from tunbench.plan import narrowing, scales
from tunbench.plan.keys import BESIDE_A_PLAN, read_plan
from tunbench.plan.model import AUTO, DEFAULT_LAB_KIND, LabChoice, Plan
from tunbench.plan.narrowing import Globs, NothingMatches
from tunbench.plan.scales import FULL
from tunbench.plan.study import named_cells
from tunbench.plan.study.claim import CLAIM_EXAMPLE, StudyClaim, read_claims
from tunbench.plan.study.publication import STUDY_EXAMPLE, Study, read_study
from tunbench.plan.toml import bounded_toml, positions
from tunbench.plan.toml.bounds import MAX_FILE_BYTES, MAX_MISTAKES, MAX_VALUES_OF_SCALES
from tunbench.plan.toml.mistakes import Mistake, in_lines, mistakes_of
from tunbench.plan.toml.tables import Key, alone, read_table, unknown_in
from tunbench.runner.declare.options import nearest

OVERRIDES: dict[str, positions.Path] = {
    "seed": ("seed",),
    "lab": ("lab", "kind"),
    "clock": ("lab", "clock"),
    "repeats": ("repeats",),
    "scale": ("scale",),
    **{axis: (axis,) for axis in narrowing.AXES},
}
"""The options of the command line that override a plan, and what of it; those of axes hold patterns."""

KEYS_BESIDE_A_PLAN = {
    "study": Key(STUDY_EXAMPLE, alone(read_study), lambda: None),
    "claim": Key(CLAIM_EXAMPLE, alone(read_claims), list),
    "scale": Key(scales.EXAMPLE, alone(scales.read_scales), dict),
}
"""What stands in a plan's file besides the plan."""


Read = TypeVar("Read")


class PlanError(Exception):
    """A plan cannot be used. The message is for the user: file, line and key, what is wrong, and the mend."""


class Loaded(NamedTuple):
    """A checked plan at one of its scales, and the text and the file that it was read from.

    `plans` has the plan of every scale that has something of what the command line left. A plan may reproduce a
    `study`, and test `claims`.
    """

    plan: Plan
    text: str
    path: Path
    study: Study | None
    claims: Sequence[StudyClaim]
    scale: str
    plans: Mapping[str, Plan]

    def in_lab(self, kind: str, clock: str) -> "Loaded":
        """The same in another lab, which must be one that can run all of it."""
        lab = LabChoice(kind, clock)
        plans = {scale: replace(plan, lab=lab) for scale, plan in self.plans.items()}
        return self._replace(plan=replace(self.plan, lab=lab), plans=plans)


def shipped_plans() -> dict[str, Path]:
    """The plans that come with Tunbench, and no study: name and file, sorted by name."""
    return _shipped("plans")


def shipped_studies() -> dict[str, Path]:
    """The studies that come with Tunbench: name and file, sorted by name."""
    return _shipped("studies")


def _shipped(folder: str) -> dict[str, Path]:
    return {path.stem: path for path in sorted(Path(str(files("tunbench.plan").joinpath(folder))).glob("*.toml"))}


def load(plan: str, **overrides: Any) -> Loaded:
    """Reads the plan of a file or of a shipped name, with what the command line overrides: keys of OVERRIDES.

    Those that are None are not given. Raises PlanError.
    """
    path = find(plan)
    return read(_text(path), path, {name: value for name, value in overrides.items() if value is not None})


def reference_of(loaded: Loaded) -> Path | None:
    """The file of a study's published numbers: beside the study's own, or else in the package. Raises PlanError.

    None where the plan is no study.
    """
    if loaded.study is None:
        return None
    name, shipped = loaded.study.reference, Path(str(files("tunbench").joinpath("reference")))
    line = positions.line_of(("study", "reference"), positions.lines(loaded.text))
    for path in (loaded.path.parent / name, shipped / name):
        if path.is_file():
            return path
        if os.path.lexists(path):
            raise PlanError(
                f"{loaded.path}:{line}: study.reference: {path} is no file: put the published numbers in its place"
            )
    known = nearest(name, [path.name for path in shipped.glob("*.csv")])
    raise PlanError(f'{loaded.path}:{line}: study.reference: there is no file "{name}" beside the study{known}')


def find(plan: str) -> Path:
    """The file of a plan: a path, or else the name of a shipped plan. Raises PlanError."""
    if not plan:
        raise PlanError("the name of the plan is empty: name its file, or a shipped plan")
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


def read(
    text: str,
    path: Path,
    overrides: Mapping[str, Any] | None = None,
    options: Mapping[positions.Path, str] | None = None,
) -> Loaded:
    """The plan and what stands beside it, as a TOML text says; all of its scales are checked. Raises PlanError.

    `path` is for messages, `overrides` has keys of OVERRIDES. `options` of a command line are what a text was made of.
    """
    overrides = overrides or {}
    data = parsed(text, str(path))
    other = {key: data.pop(key) for key in BESIDE_A_PLAN if key in data}
    beside, mistakes = _tried(_read_beside, other)
    replaced = beside["scale"] if beside else {}
    plans, more = _read_scales({FULL: {}, **replaced}, data, overrides)
    mistakes += more
    if beside and not mistakes:
        mistakes += named_cells.mistakes(beside["study"], beside["claim"], plans)
    if mistakes or not beside:
        # A scale is chosen by its name: what it replaces stands in the file.
        given = {OVERRIDES[name]: f"--{name}" for name in overrides if name != "scale"}
        raise PlanError(in_lines(mistakes, text, str(path), {**(options or {}), **given}))
    scale = overrides.get("scale", FULL)
    if scale not in plans or ("scale" in overrides and not replaced):
        raise PlanError(_no_scale(str(scale), replaced, str(path)))
    try:
        plans = _narrowed(plans, scale, narrowing.globs_of(overrides))
    except NothingMatches as error:
        raise PlanError(str(error)) from None
    return Loaded(plans[scale], text, path, beside["study"], beside["claim"], scale, plans)


def _narrowed(plans: dict[str, Plan], wanted: str, globs: Globs) -> dict[str, Plan]:
    """The plans of all scales, narrowed: without those of which nothing is left, unless it is the one that is wanted.

    What stands in a file is checked as a whole before. Raises NothingMatches.
    """
    left = {}
    for scale, plan in plans.items() if globs else ():
        try:
            left[scale] = narrowing.narrowed(plan, globs)
        except NothingMatches:
            if scale == wanted:
                raise
    return left or plans


def _read_scales(
    scales: Mapping[str, Mapping[str, Any]], data: Mapping[str, Any], overrides: Mapping[str, Any]
) -> tuple[dict[str, Plan], list[Mistake]]:
    """The plan of each scale, whose keys replace the data's, up to the first with a mistake; and the mistakes."""
    plans: dict[str, Plan] = {}
    for name, keys in scales.items():
        plan, mistakes = _tried(read_plan, _overridden({**data, **keys}, overrides))
        if plan is None:
            return plans, [one._replace(path=_within(one.path, name, keys)) for one in mistakes]
        plans[name] = plan
        if _values(plans) > MAX_VALUES_OF_SCALES:
            sentence = f"up to here the scales have more than {MAX_VALUES_OF_SCALES} values: sweep over less"
            return plans, [Mistake(("scale", name), sentence)]
    return plans, []


def _read_beside(data: Mapping[str, Any]) -> dict[str, Any]:
    """The study, claims and scales. Raises Mistakes."""
    return read_table(data, KEYS_BESIDE_A_PLAN, STUDY_EXAMPLE, unknown_in("a plan", KEYS_BESIDE_A_PLAN))


def _tried(read: Callable[[Mapping[str, Any]], Read], data: Mapping[str, Any]) -> tuple[Read | None, list[Mistake]]:
    """What is read of the data; or none, and the mistakes in them."""
    try:
        return read(data), []
    except ValueError as error:
        return None, mistakes_of(error)[:MAX_MISTAKES]


def _values(plans: Mapping[str, Plan]) -> int:
    """How many values the axes of the scales have; those of the plan as it stands do not count."""
    return sum(len(values) for scale, plan in plans.items() if scale != FULL for values in plan.axes.values())


def _within(path: positions.Path, scale: str, keys: Mapping[str, Any]) -> positions.Path:
    """Where in the file a mistake of a scale's plan is: in the scale's own keys, or in the plan's."""
    return ("scale", scale, *path) if path and path[0] in keys else path


def _no_scale(scale: str, replaced: Mapping[str, Any], file: str) -> str:
    if not replaced:
        return f"--scale: {file} has no scales: leave the option away, or write {scales.EXAMPLE}"
    return f'--scale: {file} has no scale "{plain_text.line(scale)}"{nearest(scale, [FULL, *replaced])}'


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        _check_size(len(data), str(path))
        # Some editors write a mark of the byte order before the text.
        return data.decode("utf-8-sig")
    except OSError as error:
        raise PlanError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise PlanError(f"{path}: byte {error.start} is not UTF-8: a plan is a text file in UTF-8") from None


def _check_size(size: int, file: str) -> None:
    if size > MAX_FILE_BYTES:
        raise PlanError(f"{file}: this is larger than {MAX_FILE_BYTES >> 10} KiB, and no plan")


def parsed(text: str, file: str) -> dict[str, Any]:
    """The tables of a plan's text; `file` is for messages. Raises PlanError where it is no TOML that can be read."""
    _check_size(len(text), file)
    try:
        return bounded_toml.parsed(text, file)
    except bounded_toml.NotToml as error:
        raise PlanError(f"{error}; compare `tunbench plan show quick --text`") from None
    except bounded_toml.TomlError as error:
        raise PlanError(str(error)) from None


def _overridden(data: dict[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The plan's data with what the command line overrides."""
    data |= {key: overrides[key] for key in ("seed", "repeats") if key in overrides}
    lab = data.get("lab", {})
    if not isinstance(lab, dict) or not {"lab", "clock"} & set(overrides):
        return data
    lab = dict(lab)
    if "lab" in overrides and overrides["lab"] != lab.get("kind", DEFAULT_LAB_KIND):
        if overrides["lab"] != AUTO:
            # The clock was chosen for another lab: without --clock, the new one has its own default.
            lab.pop("clock", None)
        lab["kind"] = overrides["lab"]
    if "clock" in overrides:
        lab["clock"] = overrides["clock"]
    return {**data, "lab": lab}
