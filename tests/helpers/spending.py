"""What a work takes of processor time and memory, and how much of both it may take to read something.

Memory is read from /proc, since a process inherits `ru_maxrss` of the one that started it (getrusage(2): it is kept
over execve): a test's worker that has grown to 1 GiB would be what is measured.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
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


COMMAND = """
import json, resource, sys, time
from tests.helpers.spending import peak_bytes
from tunbench.cli import app
began = time.process_time()
try:
    app(sys.argv[1:])
except SystemExit as end:
    code = end.code or 0
children = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([code, time.process_time() - began, peak_bytes(), children.ru_maxrss << 10]))
"""


@dataclass(frozen=True)
class Spent:
    """How a command of `tunbench` ended, and what it took."""

    code: int
    seconds: float
    memory_bytes: int
    largest_childs_bytes: int
    """Of a process that it started; its own if that was more, which children inherit."""
    stderr: str


def command(*arguments: str) -> Spent:
    """Runs `tunbench` with these arguments as a process of its own."""
    done = subprocess.run([sys.executable, "-c", COMMAND, *arguments], capture_output=True, text=True, check=True)
    code, seconds, memory, largest_childs = json.loads(done.stdout.splitlines()[-1])
    return Spent(code, seconds, memory, largest_childs, done.stderr)
