"""The scales of a plan: each is the plan with some of its keys replaced."""

from collections.abc import Mapping
from typing import Any

from tunbench.plan.toml.bounds import MAX_SCALES
from tunbench.plan.toml.mistakes import MistakeAt, quoted
from tunbench.plan.toml.tables import read_names

FULL = "full"
"""The scale that the plan itself is."""

EXAMPLE = "[scale.quick] and below it repeats = 3"

NOT_IN_A_SCALE = ("study", "claim", "scale", "name")


def read_scales(value: object) -> dict[str, Mapping[str, Any]]:
    """The keys that each scale replaces, as they are written. Raises ValueError, MistakeAt and Mistakes."""
    scales = read_names(value, _read_scale, EXAMPLE, empty=True, most=MAX_SCALES)
    if FULL in scales:
        raise MistakeAt(f'"{FULL}" is the plan as it stands: take another name', FULL)
    return scales


def _read_scale(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{quoted(value)} is not a table: write for example {EXAMPLE}")
    for key in NOT_IN_A_SCALE:
        if key in value:
            raise MistakeAt(f'a scale has no "{key}": take it away', key)
    return value
