"""What a program of a lab may take at most: one that runs wild fails its own trial, and harms nothing else."""

import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

MAX_FILE = 128 << 20
"""Bytes of a file, such as a log. What would make it larger ends the program by SIGXFSZ, or fails where it ignores that
signal: setrlimit(2)."""

MAX_MEMORY = 4 << 30
"""Bytes of memory of its own that a process may write to, used or not: RLIMIT_DATA of setrlimit(2). 256 threads with
stacks of 8 MiB each take half of it. It is also what all processes of a node may use together (`memory_watch`). A VM
has less memory altogether, and its kernel ends the largest process."""

MAX_PROCESSES = 2000
"""Processes and threads of a node, where the kernel counts them by PID namespace: Linux 6.14, kernel/pid.c. In a VM
it is the number of all nodes, and of the kernel's own threads (`labs/guest/start`)."""

WORKLOAD_OVERTIME = 600.0
"""Seconds of the lab's own time that a workload may take beyond ten times what it declares."""


def bind() -> None:
    """Sets the limits of this process, which hold for all that it starts."""
    for what, most in (
        (resource.RLIMIT_FSIZE, MAX_FILE),
        (resource.RLIMIT_DATA, MAX_MEMORY),
        # A program that is ended by a limit would leave its memory in a file.
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))
    # The stacks of the runner's own threads count too.
    threading.stack_size(1 << 20)


def processes(release: str) -> int:
    """Processes that a node may have under a kernel of this release; 0 where the whole machine alone has a limit."""
    major, minor = (int(part) for part in release.split("-")[0].split(".")[:2])
    return MAX_PROCESSES if (major, minor) >= (6, 14) else 0


def ending(status: int) -> str:
    """How a program ended, in words: `status` is its exit status, or the negative number of a signal."""
    if status >= 0:
        return f"ended with status {status}"
    name = signal.Signals(-status).name if -status in signal.valid_signals() and -status < 32 else f"signal {-status}"
    why = {
        "SIGXFSZ": f": it wrote more than {MAX_FILE >> 20} MiB into a file",
        "SIGKILL": ", as happens where memory has run out",
    }
    return f"was ended by {name}{why.get(name, '')}"


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raises TimeoutError where what is within takes longer. Only the main thread can be interrupted so."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"it did not end within {seconds:g} s")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
