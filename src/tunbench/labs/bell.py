"""A bell that rings when a file grows: whoever waits for it takes no time from what is measured meanwhile."""

import ctypes
import os
from contextlib import suppress
from pathlib import Path

MODIFIED = 0x2
"""IN_MODIFY of inotify(7)."""

RINGS = 1 << 16
"""Bytes of a read that takes all that has rung: an event has 16 at least, and equal ones in a row are one."""

LIBC = ctypes.CDLL(None, use_errno=True)


def hung(path: Path) -> int | None:
    """A descriptor that can be read from once the file has grown; None where the kernel has none left for this user."""
    bell: int = LIBC.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
    if bell < 0:
        return None
    if LIBC.inotify_add_watch(bell, os.fsencode(path), MODIFIED) < 0:
        os.close(bell)
        return None
    return bell


def silence(bell: int) -> None:
    """Takes what has rung."""
    with suppress(BlockingIOError):
        os.read(bell, RINGS)
