"""Runs a command several times, one after the other, and tells when it said what; a program of its own, for a node.

    COUNT LIMIT PATTERN FILE COMMAND…

Each takes so many seconds at most, and its standard output goes to the file. Of its standard error, lines with the
pattern count.

A write to standard error is a datagram to this program, of which the kernel notes when it was written. It waits in the
socket until the command has ended: nothing runs meanwhile that would take time from it. It prints

    run                     a run begins
    said NANOSECONDS TEXT   since the first write of the run: when a line that counts began, and that line
    end STATUS NANOSECONDS  how it ended, 124 where its time was over, and how long it took

and behind a run that failed what it said last.
"""

import os
import re
import select
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

SO_RCVBUFFORCE, SO_TIMESTAMPNS = 33, 35
"""Options of a socket that Python does not name: Linux, include/uapi/asm-generic/socket.h."""

ROOM = 16 << 20
"""Bytes that may wait, as the kernel counts them."""

TIMESPEC = struct.Struct("ll")
SECOND = 1_000_000_000

TOO_LONG = 124
"""The status of a command whose time was over: as timeout(1) has it."""

LAST, LENGTH = 12, 200
"""Lines that stand behind a run that failed, and characters of each."""


def ear() -> socket.socket:
    """A socket of the loopback interface that hears what is written."""
    ends = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ends.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
    ends.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    ends.bind(("127.0.0.1", 0))
    return ends


def written(ends: socket.socket) -> list[tuple[int, str]]:
    """What waits in the socket: when it was written, in nanoseconds, and what it was."""
    found: list[tuple[int, str]] = []
    while True:
        try:
            data, told, _, _ = ends.recvmsg(65535, 64, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return found
        seconds, nanoseconds = TIMESPEC.unpack(told[0][2]) if told else (0, 0)
        found.append((seconds * SECOND + nanoseconds, data.decode(errors="replace")))


def lines(said: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The lines of what was written, however many writes they are, each with the moment of the first of these."""
    found: list[tuple[int, str]] = []
    open_line = False
    for moment, text in said:
        for part in text.splitlines(keepends=True):
            if open_line:
                began, before = found.pop()
                found.append((began, before + part))
            else:
                found.append((moment, part))
            open_line = not part.endswith("\n")
    return found


def run(command: list[str], limit: float, file: str) -> tuple[int, int, list[tuple[int, str]]]:
    """Runs a command once: its status, the nanoseconds that it took, and what it wrote when, line by line."""
    with ear() as ends, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as mouth, Path(file).open("wb") as out:
        mouth.connect(ends.getsockname())
        began = time.monotonic_ns()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=mouth.fileno())
        # To wait for it with a limit, Python itself looks each 50 ms.
        end = os.pidfd_open(process.pid)
        in_time = select.select([end], [], [], limit)[0]
        took = time.monotonic_ns() - began
        os.close(end)
        process.kill()
        status = process.wait()
        return status if in_time else TOO_LONG, took, lines(written(ends))


def main(count: str, limit: str, pattern: str, file: str, *command: str) -> None:
    """Runs the command as often as it is asked for."""
    counts = re.compile(pattern)
    for _ in range(int(count)):
        status, took, said = run(list(command), float(limit), file)
        began = min((moment for moment, _ in said), default=0)
        told = [(moment, text) for moment, text in said if counts.search(text)]
        print("run")
        for moment, text in [*told, *(said[-LAST:] if status else ())]:
            print("said", moment - began, " ".join(text.split())[:LENGTH])
        print("end", status, took, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
