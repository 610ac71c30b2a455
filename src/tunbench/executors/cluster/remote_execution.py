"""A shard that a worker executes, as the pool sees it: its events come over the network as they happen."""

import os
import threading
import time
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tunbench.plain_text import line
from tunbench.runner.declare.warnings import WarningKind

if TYPE_CHECKING:
    from distributed import Future as Task

KINDS: Mapping[str, WarningKind] = {str(kind): kind for kind in WarningKind}

DIED = "KilledWorker"
"""The error of a task whose workers have died, one after the other."""

LARGEST_BYTES = 256 << 20
"""Of what a worker tells at once, when it is unpacked."""


class RemoteExecution:
    """A task of Dask's; `wakes` rings whenever something of it has come.

    `workers` are those that may take it, `alive` tells which are there, and `refuse` lets one take no more. It is
    `lost` where the one that had it has gone, or lacks what any shard takes, such as room: then it begins anew. What
    else it `failed` of would come up on every worker.
    """

    def __init__(
        self,
        future: "Task[None]",
        workers: Collection[str],
        alive: Callable[[], Collection[str]],
        refuse: Callable[[str, str], None],
    ) -> None:
        self.future, self.workers, self.alive, self.refuse = future, workers, alive, refuse
        self.warnings: Sequence[tuple[WarningKind, str]] = ()
        self.attempt = self.worker = ""
        self.over: Mapping[str, Any] | None = None
        self.lost = self.failed = ""
        self._lines: list[bytes] = []
        self._began: float | None = None
        self._lock = threading.Lock()
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._open = True
        future.add_done_callback(lambda _: self._ring())

    @property
    def is_open(self) -> bool:
        """Whether somebody waits for it."""
        return self._open

    @property
    def wakes(self) -> Sequence[int]:
        """The bell."""
        return (self._bell,)

    def told(self, message: Mapping[str, Any]) -> None:
        """Takes a message of the worker."""
        with self._lock:
            if self.over is not None or self.lost or self.failed:
                return
            if self.attempt and message["attempt"] != self.attempt:
                self.lost = f"worker {self.worker} is gone"
            elif message.get("began"):
                self.attempt, self.worker = str(message["attempt"]), str(message["worker"])
                self._began = time.monotonic()
            elif "lines" in message:
                text = zlib.decompressobj().decompress(message["lines"], LARGEST_BYTES)
                self._lines += text.split(b"\n")
            elif "warnings" in message:
                self._warn(message["warnings"])
            elif "over" in message:
                self.over = message
        self._ring()

    def lines(self) -> list[bytes]:
        """The lines that came since the last call."""
        with suppress(BlockingIOError):
            os.eventfd_read(self._bell)
        with self._lock:
            new, self._lines = self._lines, []
        return new

    def running(self) -> bool:
        """Whether it is still to be waited for."""
        # That it is over is told before its task ends, so that this is asked the other way round.
        done, alive = self.future.done(), self.alive()
        if not (self.lost or self.failed or self.over):
            self._look(done, alive)
        return not (self.lost or self.failed or self.over)

    def age(self) -> float:
        """Seconds since a worker began it, or that it took there."""
        if self.over is not None:
            return float(self.over["age"])
        return time.monotonic() - self._began if self._began is not None else 0.0

    def stop(self) -> None:
        """Ends it where it is under way; nobody waits for it any more."""
        with self._lock:
            # Another thread rings the bell, and its number is somebody else's as soon as it is closed.
            open_before, self._open = self._open, False
            if open_before:
                os.close(self._bell)
        if open_before:
            # What is released is cancelled on its worker, which looks twice a second.
            self.future.release()

    def last_words(self) -> str:
        """What the worker said at its end, and which one it was."""
        words = str(self.over["words"]) if self.over is not None else self.lost or self.failed
        return f"worker {self.worker or 'unknown'}: {words}"

    def _look(self, done: bool, alive: Collection[str]) -> None:
        """Finds out whether it is lost or has failed."""
        if done:
            self._ended()
        elif self.worker and self.worker not in alive:
            self.lost = f"worker {self.worker} is gone"
        elif not self.worker and not set(self.workers) & set(alive):
            self.lost = "no worker that could take it is there"

    def _ended(self) -> None:
        """Its task has ended without having told its end."""
        error = self.future.exception() if self.future.status == "error" else None
        told = f"{type(error).__name__}: {line(str(error), 500)}" if error else str(self.future.status)
        why = f"worker {self.worker or 'unknown'} did not execute it: {told}"
        if self.worker and isinstance(error, OSError):
            self.refuse(self.worker, told)
        if error is None or isinstance(error, OSError) or type(error).__name__ == DIED:
            self.lost = why
        else:
            self.failed = why

    def _warn(self, told: Sequence[Sequence[str]]) -> None:
        self.warnings = [(KINDS[kind], str(text)) for kind, text in told if kind in KINDS]

    def _ring(self) -> None:
        with self._lock, suppress(BlockingIOError):
            if self._open:
                os.eventfd_write(self._bell, 1)
