"""How long a thread runs before the kernel lets another one have the processor: sched(7), sched_setattr(2)."""

import ctypes
import os
import platform
import struct

LIBC = ctypes.CDLL(None)

SCHED_SETATTR = {"x86_64": 314, "aarch64": 274}
"""Debian 12's C library has no function for it (the kernel's arch/*/tools/syscall*.tbl)."""

SHORTEST_NANOSECONDS = 100_000
"""The kernel takes no shorter one (sched_setattr() of kernel/sched/syscalls.c)."""

ATTRIBUTES = struct.Struct("=IIQiIQQQ")
"""Size, policy, flags, nice, priority, and for this policy the slice as runtime; deadline and period are others'."""


def give_shortest(thread: int) -> None:
    """Lets a thread have the processor as soon as it wakes, before one that has longer slices.

    Linux does so from 6.12 on (PREEMPT_SHORT of kernel/sched/features.h), and takes no notice before.
    """
    number = SCHED_SETATTR.get(platform.machine())
    if number is not None:
        nice = os.getpriority(os.PRIO_PROCESS, thread)
        attributes = ATTRIBUTES.pack(ATTRIBUTES.size, os.SCHED_OTHER, 0, nice, 0, SHORTEST_NANOSECONDS, 0, 0)
        LIBC.syscall(number, thread, attributes, 0)
