"""What reading something takes of processor time and memory, and how much of both it may take."""

from pathlib import Path

MAX_SECONDS = 1.0
"""Processor time that one file may take."""

MAX_BYTES = 100 << 20
"""Memory that one file may take beyond what was there before."""


def peak_bytes() -> int:
    """The most memory that this process has had since it was told to begin anew."""
    return int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]) << 10


def begin_peak_anew() -> None:
    """From here on, the peak is that of what follows. Source: proc(5), /proc/pid/clear_refs."""
    Path("/proc/self/clear_refs").write_text("5")
