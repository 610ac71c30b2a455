"""Processes as the lab sees them: which belong to a node."""

from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")


def everywhere() -> Iterator[Path]:
    """The folder of every process in /proc."""
    return PROC.glob("[0-9]*")


def namespace(process: str) -> str:
    """The PID namespace of a process; empty where there is no such process."""
    try:
        return str((PROC / process / "ns" / "pid").readlink())
    except OSError:
        return ""
