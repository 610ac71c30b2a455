"""A bell that rings when a lab tells something or ends: whoever waits for it takes no time from what is measured."""

import ctypes
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

IN_MODIFY = 0x2
"""A file was written to: inotify(7)."""

DRAINED_BYTES = 1 << 16
"""A read of so many takes all that was told: an event has 16 at least, and equal ones in a row are one."""

LIBC = ctypes.CDLL(None)


def wakes_of(path: Path, process: int) -> tuple[int, ...]:
    """Two descriptors: one can be read from once the file has grown, the other once the process has ended.

    Empty where the kernel cannot do this, or has no more of them for this user.
    """
    grown: int = LIBC.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
    if grown < 0:
        return ()
    if LIBC.inotify_add_watch(grown, os.fsencode(path), IN_MODIFY) >= 0:
        with suppress(OSError):
            return grown, os.pidfd_open(process)
    os.close(grown)
    return ()


def drain(wakes: Sequence[int]) -> None:
    """Takes what has rung because the file has grown; that the process has ended goes on ringing."""
    for grown in wakes[:1]:
        with suppress(BlockingIOError):
            os.read(grown, DRAINED_BYTES)
