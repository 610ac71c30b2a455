"""Processes of a test: whether one has ended, and the number that it wrote of itself."""

from collections.abc import Callable
from pathlib import Path

from tunbench.runner.node.shell import wait_until


def gone(pid: int) -> Callable[[], bool]:
    """Asks whether a process has ended."""

    def asked() -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            return True

    return asked


def written(path: Path) -> int:
    """The number in a file, as soon as it is there."""
    assert wait_until(lambda: path.exists() and path.read_text().endswith("\n"), 10)
    return int(path.read_text())
