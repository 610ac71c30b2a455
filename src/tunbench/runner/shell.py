"""Executes commands: the one place where the runner starts a program."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol


class Result(NamedTuple):
    """How a command ended. A status of None says that its time limit (in seconds) ran out."""

    status: int | None
    stdout: str
    stderr: str


class Process(Protocol):
    """A program that goes on in the background."""

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""

    def stop(self) -> None:
        """Ends it: SIGTERM, and SIGKILL after a second."""

    def kill(self) -> None:
        """Ends it at once."""


class Shell(Protocol):
    """Whatever can execute a command: a real kernel, or a fake one under a unit test."""

    def run(self, argv: Sequence[str], timeout: float, stdin: str = "") -> Result:
        """Runs a command to its end."""

    def start(self, argv: Sequence[str], log: Path) -> Process:
        """Starts a command in the background; what it prints goes to the file `log`."""


class Background:
    """A started program with the process group it leads."""

    def __init__(self, argv: Sequence[str], log: Path) -> None:
        with log.open("ab") as file:
            self.popen = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
            )

    def poll(self) -> int | None:
        """The exit status, or None while it runs."""
        return self.popen.poll()

    def stop(self) -> None:
        """Ends it: SIGTERM to its group, and SIGKILL after a second.

        What enters a node dies at once, and the program that it started there may take its time: both are waited for.
        """
        for number in (signal.SIGTERM, signal.SIGKILL):
            _signal_group(self.popen.pid, number)
            if wait_until(lambda: self.poll() is not None and not _alive(self.popen.pid), 1):
                return

    def kill(self) -> None:
        """Ends it at once: SIGKILL to its group."""
        _signal_group(self.popen.pid, signal.SIGKILL)
        self.popen.wait()


class LocalShell:
    """Executes commands on this kernel."""

    def run(self, argv: Sequence[str], timeout: float, stdin: str = "") -> Result:
        """Runs a command to its end, or to the end of its time limit in seconds."""
        popen = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            stdout, stderr = popen.communicate(stdin.encode(), timeout)
            status: int | None = popen.returncode
        except subprocess.TimeoutExpired:
            _signal_group(popen.pid, signal.SIGKILL)
            stdout, stderr = _rest_of(popen)
            status = None
        return Result(status, stdout.decode(errors="replace"), stderr.decode(errors="replace"))

    def start(self, argv: Sequence[str], log: Path) -> Background:
        """Starts a command in the background."""
        return Background(argv, log)


def wait_until(done: Callable[[], bool], timeout: float, interval: float = 0.02) -> bool:
    """Asks every `interval` seconds until the answer is yes, or until `timeout` seconds have passed."""
    end = time.monotonic() + timeout
    while not done():
        if time.monotonic() >= end:
            return False
        time.sleep(interval)
    return True


def _rest_of(popen: "subprocess.Popen[bytes]") -> tuple[bytes, bytes]:
    """What a killed program had printed. One that left its group may hold the pipes open: it is not waited for."""
    try:
        return popen.communicate(timeout=0.5)
    except subprocess.TimeoutExpired as late:
        for pipe in (popen.stdin, popen.stdout, popen.stderr):
            if pipe:
                pipe.close()
        return late.stdout or b"", late.stderr or b""


def _alive(group: int) -> bool:
    """Whether a process of the group still runs: one that has ended and that nobody asked about does not."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, leader = stat.read_text().rpartition(") ")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(leader) == group and state != "Z":
            return True
    return False


def _signal_group(leader: int, number: signal.Signals) -> None:
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        return
