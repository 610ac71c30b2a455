"""Processes as the lab sees them: which belong to a node, and how all of a node are ended."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")


def kill_all(holder: str) -> None:
    """Ends all processes of a node at once, but not the one that holds its namespaces."""
    space = namespace(holder) if holder else ""
    if not space or space == namespace("self"):
        return
    for process in everywhere():
        if process.name != holder and namespace(process.name) == space:
            with suppress(ProcessLookupError):
                os.kill(int(process.name), signal.SIGKILL)


def everywhere() -> Iterator[Path]:
    """The folder of every process in /proc."""
    return PROC.glob("[0-9]*")


def namespace(process: str) -> str:
    """The PID namespace of a process; empty where there is no such process."""
    try:
        return str((PROC / process / "ns" / "pid").readlink())
    except OSError:
        return ""
