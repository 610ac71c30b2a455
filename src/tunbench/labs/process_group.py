"""An execution on this machine: a process group that writes events into a file, which is only ever tailed."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

from tunbench.labs import inotify
from tunbench.runner.declare.warnings import WarningKind

ENDS_WITH_PROCESS = ("setpriv", "--pdeathsig", "KILL", "sh", "-c", 'test "$PPID" = "$0" && exec "$@"')
"""Before the ID of a process and a command: the kernel ends the command with that process, which started it, and the
command does not begin where the process has ended before the kernel knew."""

LAST_WORDS_SIZE = 2000
"""Characters of the tail of a file that are last words."""


def ends_with_this_process(argv: Sequence[str]) -> list[str]:
    """The command that ends with this process, however that happens."""
    return [*ENDS_WITH_PROCESS, str(os.getpid()), *argv]


class Closable(Protocol):
    """What is kept open beside a lab."""

    def close(self) -> None:
        """Closes it."""


class ProcessGroup:
    """A started lab. The kernel ends it when the controlling process dies, however that happens.

    Its environment is that of this process, unless another one is given. It has no `wakes` where the kernel has no bell
    left. It has the descriptors that it `inherits`, and what it `closes` is closed when it is stopped.
    """

    wakes: tuple[int, ...] = ()
    lost = ""
    warnings: tuple[tuple[WarningKind, str], ...] = ()

    def __init__(
        self,
        argv: Sequence[str],
        folder: Path,
        environment: dict[str, str] | None = None,
        inherits: Sequence[int] = (),
    ) -> None:
        self.folder = folder
        self.closes: list[Closable] = []
        self.events = folder / "events.jsonl"
        self.console = folder / "console.log"
        self.events.touch()
        self.began = time.monotonic()
        with (folder / "output.log").open("wb") as output:
            # A group of its own lets us end all of it.
            self.process = subprocess.Popen(
                ends_with_this_process(argv),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=environment,
                start_new_session=True,
                pass_fds=inherits,
            )
        self._tail: BinaryIO = self.events.open("rb")
        self._partial = b""
        self.wakes = inotify.wakes_of(self.events, self.process.pid)

    def lines(self) -> list[bytes]:
        """The whole lines that were written since the last call."""
        inotify.drain(self.wakes)
        *whole, self._partial = (self._partial + self._tail.read()).split(b"\n")
        return whole

    def running(self) -> bool:
        """Whether the lab is still there."""
        return self.process.poll() is None

    def age(self) -> float:
        """Seconds of wall clock since it was started."""
        return time.monotonic() - self.began

    def stop(self) -> None:
        """Ends the lab and all of its processes at once: nothing of it is kept."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self._tail.close()
        for descriptor in self.wakes:
            os.close(descriptor)
        self.wakes = ()
        for one in self.closes:
            one.close()

    def last_words(self) -> str:
        """The tail of what the lab printed outside its events."""
        texts = [_tail(path) for path in (self.console, self.folder / "output.log") if path.exists()]
        return "\n".join(text.strip() for text in texts if text.strip())


def _tail(path: Path) -> str:
    """The last characters of a file, which may be larger than the memory."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4 * LAST_WORDS_SIZE))
        return file.read().decode(errors="replace")[-LAST_WORDS_SIZE:]
