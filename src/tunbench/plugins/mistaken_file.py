"""A mistake in the file of a tunnel, workload or probe, told in one message with file and line."""

import traceback
from collections.abc import Iterator
from pathlib import Path

from tunbench.runner import probes, tunnels, workloads

PAGE = "docs/adding-a-tunnel.md"


def said_of(error: BaseException) -> str:
    """The message, where the error is of such a file; else empty, and the mistake is Tunbench's own."""
    if isinstance(error, SyntaxError) and error.filename and _is_of_theirs(error.filename):
        return f"{error.filename}:{error.lineno}: this is not Python: {error.msg}"
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _is_of_theirs(frame.filename):
            return f"{frame.filename}:{frame.lineno}: {type(error).__name__}: {error} ({PAGE})"
    return ""


def _is_of_theirs(file: str) -> bool:
    return any(folder in Path(file).parents for folder in _folders())


def _folders() -> Iterator[Path]:
    """Where tunnels, workloads and probes lie, those of plug-ins too."""
    return (Path(folder) for package in (tunnels, workloads, probes) for folder in package.__path__)
