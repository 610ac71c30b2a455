"""Where in a run each trial has its folder, and what shards and trials are called in words."""

import hashlib
import re
import shlex
from pathlib import Path
from typing import Any

from tunbench.plain_text import line
from tunbench.runner.declare import axes

LONGEST_COMPONENT = 200
"""Characters of a component of a path; file systems take 255 bytes."""


def folder_of(spec: dict[str, Any], workload: str) -> Path:
    """The folder of a trial, relative to its run."""
    parts = [spec["stack"], spec["profile"]["name"], *special(spec), workload, f"repeat-{spec['repeat']}"]
    return Path("trials", *(component(part) for part in parts))


def special(spec: dict[str, Any]) -> list[str]:
    """What of a shard's tacit axes has another value than the usual, such as `link=jumbo`."""
    return [
        f"{name}={name_of_value(spec, name)}"
        for name, usual in axes.USUAL.items()
        if name_of_value(spec, name) != usual
    ]


def label_of_shard(spec: dict[str, Any]) -> str:
    """A shard in words."""
    return _label(spec)


def label_of_trial(spec: dict[str, Any], workload: str) -> str:
    """A trial of a shard in words."""
    return _label(spec, workload)


def _label(spec: dict[str, Any], *workload: str) -> str:
    parts = [spec["stack"], spec["profile"]["name"], *special(spec), *workload]
    return ", ".join([*parts, f"repeat {spec['repeat']}"])


def name_of_value(spec: dict[str, Any], axis: str) -> str:
    """The name of a shard's value of an axis: it stands there, or in a table, or goes unsaid."""
    value = spec[axis] if axis in spec else axes.UNSAID[axis]
    return str(value["name"]) if isinstance(value, dict) else str(value)


def resume_command(run: Path) -> str:
    """The command that goes on with a run, on one line that can be copied."""
    quoted = shlex.quote(str(run))
    return f"tunbench run --resume {line(quoted, len(quoted))}"


def component(text: str) -> str:
    """The text as one component of a path: nothing in it can lead elsewhere."""
    safe = re.sub(r"[^A-Za-z0-9.,=+_-]", "-", text).lstrip(".") or "-"
    if len(safe) <= LONGEST_COMPONENT:
        return safe
    return f"{safe[: LONGEST_COMPONENT - 13]}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
