"""A manifest as names and values."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from tunbench.report import units

MAX_NAME_CHARACTERS = 1_000_000
"""Characters of the names of all facts, each with those of the tables around it; a run's own have some 10,000."""


def facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The manifest as names and values, one row a leaf, as far as they fit; packages are left to `packages`."""
    found: list[tuple[str, str]] = []
    left = MAX_NAME_CHARACTERS
    for name, text in _leaves(manifest):
        left -= len(name)
        if left < 0:
            return [*found, ("…", "the names of the others are too long to be shown")]
        if not name.startswith("image.packages."):
            found.append((name, text))
    return found


def packages(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The packages of the image with their versions, sorted."""
    image = manifest.get("image")
    listed = image.get("packages") if isinstance(image, dict) else None
    return sorted((str(name), str(version)) for name, version in listed.items()) if isinstance(listed, dict) else []


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple) and name == "command":
        yield name, shlex.join(str(word) for word in value)
    elif isinstance(value, list | tuple):
        yield name, ", ".join(_flat(one) for one in value) or units.NOTHING
    else:
        yield name, units.NOTHING if value is None or value == {} else str(value)


def _flat(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_flat(inner)}" for key, inner in value.items()) + "}"
    return str(value)
