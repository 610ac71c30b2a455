"""Executes commands: the one place where the runner starts a program."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, NamedTuple, Protocol

from tunbench.runner.node import cores, processes
from tunbench.runner.node.communicate import MAX_OUTPUT, TOO_MUCH, communicate
from tunbench.runner.node.files import LocalFiles

SOON = 0.005
"""Seconds between two looks at what needs a few milliseconds."""


class Result(NamedTuple):
    """How a command ended. A status of None says that its time limit (in seconds) ran out.

    That of one which printed too much is SIGPIPE, as if nobody had read on.
    """

    status: int | None
    stdout: str
    stderr: str


class Process(Protocol):
    """A program that goes on in the background."""

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""

    def at_rest(self) -> bool:
        """Whether it waits, and all that it was woken for is done."""

    def stop(self) -> None:
        """Ends it: SIGTERM, and SIGKILL after a second."""

    def kill(self) -> None:
        """Ends it at once."""


class Shell(Protocol):
    """Whatever can execute a command and has files: a real kernel, or a fake one under a unit test."""

    @property
    def python(self) -> str:
        """The path of its Python, for programs of the runner's own."""

    def run(self, argv: Sequence[str], timeout: float, stdin: str = "") -> Result:
        """Runs a command to its end."""

    def start(self, argv: Sequence[str], log: Path) -> Process:
        """Starts a command in the background; what it prints goes to the file `log`."""

    def read_bytes(self, path: str, most: int | None = None) -> bytes:
        """What is in a file: all of it, or the beginning of one that is larger than that. Raises OSError."""

    def tail(self, path: str, size: int) -> bytes:
        """The last bytes of a file. Raises OSError."""

    def size(self, path: str) -> int:
        """The bytes of a file. Raises OSError."""

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder."""

    def names(self, folder: str) -> list[str]:
        """The names in a folder. Raises OSError."""

    def matching(self, folder: str, pattern: str) -> list[str]:
        """The paths below a folder that match a pattern, sorted."""

    def write(self, path: str, text: str) -> None:
        """Writes a file that only root reads, and makes the folder in which it is."""

    def set_value(self, path: str, text: str) -> None:
        """Sets a value of the kernel's. Raises OSError."""

    def remove(self, path: str) -> None:
        """Takes a file away, if it is there."""

    def kill_all(self, holder: str) -> None:
        """Ends all processes of a node at once, but not the one that holds its namespaces, whose ID that is."""

    def visit_cores(self) -> set[str]:
        """Runs on each core once, so that its idle time is added up; returns the cores, named as in /proc/stat."""


class Background:
    """A started program with the process group it leads."""

    def __init__(self, argv: Sequence[str], log: Path) -> None:
        with log.open("ab") as file:
            self.popen = _begin(argv, subprocess.DEVNULL, file)

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""
        return self.popen.poll()

    def at_rest(self) -> bool:
        """Whether all of its group sleep: who is woken is runnable at once, and not only once it has the processor."""
        states = _states(self.popen.pid)
        return self.poll() is not None or ("S" in states and states <= {"S", "Z"})

    def stop(self) -> None:
        """Ends it: SIGTERM to its group, and SIGKILL after a second.

        What enters a node dies at once, and the program that it started there may take its time: both are waited for.
        """
        for number in (signal.SIGTERM, signal.SIGKILL):
            _signal_group(self.popen.pid, number)
            if wait_until(lambda: self.poll() is not None and _states(self.popen.pid) <= {"Z"}, 1, SOON):
                return

    def kill(self) -> None:
        """Ends it at once: SIGKILL to its group."""
        _signal_group(self.popen.pid, signal.SIGKILL)
        self.popen.wait()


class LocalShell(LocalFiles):
    """Executes commands on this kernel, and has its files."""

    python = str(Path(sys.executable).resolve())

    def run(self, argv: Sequence[str], timeout: float, stdin: str = "") -> Result:
        """Runs a command to its end, or to the end of its time limit in seconds."""
        popen = _begin(argv, subprocess.PIPE, subprocess.PIPE)
        broken, out, err = communicate(popen, stdin.encode(), timeout, lambda: _signal_group(popen.pid, signal.SIGKILL))
        stdout, stderr = out.decode(errors="replace"), err.decode(errors="replace")
        if broken == TOO_MUCH:
            return Result(-signal.SIGPIPE, stdout, f"{stderr}\nit printed more than {MAX_OUTPUT >> 20} MiB")
        return Result(None if broken else popen.returncode, stdout, stderr)

    def start(self, argv: Sequence[str], log: Path) -> Background:
        """Starts a command in the background."""
        return Background(argv, log)

    def kill_all(self, holder: str) -> None:
        """Ends all processes of a node at once, but not the one that holds its namespaces."""
        processes.kill_all(holder)

    def visit_cores(self) -> set[str]:
        """Runs on each core once."""
        return cores.visit_all()


def wait_until(done: Callable[[], bool], timeout: float, interval: float = 0.02) -> bool:
    """Asks every `interval` seconds until the answer is yes, or until `timeout` seconds have passed."""
    end = time.monotonic() + timeout
    while not done():
        if time.monotonic() >= end:
            return False
        time.sleep(interval)
    return True


def _begin(argv: Sequence[str], source: int, sink: int | IO[bytes]) -> "subprocess.Popen[bytes]":
    """Starts a program that leads a process group of its own. Raises OSError.

    All are of the runner's session, as what a person types into one shell is of the shell's: the kernel divides the
    processor between sessions first, and then within each (autogroup, sched(7)).
    """
    try:
        return subprocess.Popen(argv, stdin=source, stdout=sink, stderr=sink, process_group=0)
    except BlockingIOError:
        raise OSError(f"{argv[0]} cannot be started: the lab has no process left, because something forks") from None


def _states(group: int) -> set[str]:
    """The states of a group's processes (proc(5)), "Z" for one that has ended and that nobody has asked about."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, leader = stat.read_text().rpartition(") ")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(leader) == group:
            found.add(state)
    return found


def _signal_group(leader: int, number: signal.Signals) -> None:
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        return
