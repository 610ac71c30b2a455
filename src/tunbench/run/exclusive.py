"""One native run at a time on a machine: two would share its cores, and each would measure the other."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tunbench.journal import journal
from tunbench.labs.lab import LabError

SOCKET_NAME = "\0tunbench-native"
"""An abstract socket of the host's network namespace: it leaves no file, and vanishes with the process that has it."""

PEER = struct.Struct("3i")
"""A peer's process, user and group: `struct ucred`, unix(7)."""


@contextmanager
def exclusive_run() -> Iterator[None]:
    """Within it no other process of this machine can begin a native run. Raises LabError where one is under way."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as mine:
        try:
            mine.bind(SOCKET_NAME)
        except OSError:
            raise LabError(f"{_who()}; wait for it, end it, or use --lab vm") from None
        mine.listen()
        yield


def _who() -> str:
    """Which process has the lock, and the folder of its run as far as it has begun."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        try:
            asking.connect(SOCKET_NAME)
        except OSError:
            return "another native run was under way on this machine a moment ago"
        process, *_ = PEER.unpack(asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size))
    # The kernel calls a process of another PID namespace 0.
    who = f"process {process}" if process else "a process of another container"
    where = _folder(process)
    return f"another native run is under way on this machine: {who}" + (f", {where}" if where else "")


def _folder(process: int) -> str:
    """The folder of the journal that a process has open; empty where there is none, or it cannot be seen."""
    for link in Path("/proc", str(process), "fd").glob("*"):
        try:
            target = link.readlink()
        except OSError:
            continue
        if target.name == journal.NAME:
            return str(target.parent)
    return ""
