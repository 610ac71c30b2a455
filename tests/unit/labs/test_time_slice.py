"""The slice of a thread, as the kernel says that it has it."""

import ctypes
import os
import platform
import threading

from tunbench.labs import time_slice

SCHED_GETATTR = time_slice.SCHED_SETATTR[platform.machine()] + 1

GIVES_SLICES = (6, 12)
"""The first kernel that has more than one length of them."""


def slice_of_a_thread_of_its_own() -> int:
    told = bytearray(time_slice.ATTRIBUTES.size)

    def ask() -> None:
        time_slice.give_shortest(threading.get_native_id())
        room = ctypes.c_char * len(told)
        time_slice.LIBC.syscall(SCHED_GETATTR, 0, room.from_buffer(told), len(told), 0)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    *_, runtime, _, _ = time_slice.ATTRIBUTES.unpack(told)
    return int(runtime)


def test_the_kernel_has_the_shortest_slice() -> None:
    kernel = tuple(map(int, os.uname().release.split(".")[:2]))
    assert slice_of_a_thread_of_its_own() == (time_slice.SHORTEST_NANOSECONDS if kernel >= GIVES_SLICES else 0)
