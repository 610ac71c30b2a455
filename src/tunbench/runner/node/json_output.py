"""The JSON that a program printed: what stands in it, and what may be wrong with it."""

import json
from typing import Any

from tunbench.runner.declare.failures import WorkloadFailed


def table(text: str, program: str) -> dict[str, Any]:
    """The JSON object that a program printed. Raises WorkloadFailed where it is torn, or something else."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise WorkloadFailed(f"{program} printed no JSON: {text[-200:].strip()!r}") from None
    if not isinstance(data, dict):
        raise WorkloadFailed(f"{program} printed JSON that is no object")
    return data


def tables(text: str, program: str) -> list[dict[str, Any]]:
    """The JSON list of objects that a program printed; empty where it printed nothing. Raises WorkloadFailed."""
    try:
        data = json.loads(text or "[]")
    except (ValueError, RecursionError):
        raise WorkloadFailed(f"{program} printed no JSON: {text[-200:].strip()!r}") from None
    if not isinstance(data, list) or not all(isinstance(one, dict) for one in data):
        raise WorkloadFailed(f"{program} printed JSON that is no list of objects")
    return data


def value_at(data: Any, *path: str) -> Any:
    """What stands at a path of nested objects, or None."""
    for key in path:
        data = data.get(key) if isinstance(data, dict) else None
    return data
