"""Ends what takes too much memory on a node, where the lab shares a machine with others."""

import os
import resource
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tunbench.runner.node import limits
from tunbench.runner.node.node import Node

INTERVAL = 1.0
"""Seconds between two looks."""

MAX_TIME_SHARE = 0.005
"""Of its time that it looks at most: with many nodes it looks less often."""

HOLDER = "1"
"""The process that holds the namespaces of a node, by its ID there."""

PROC = Path("/proc")

PAGE = resource.getpagesize()


@contextmanager
def watched(nodes: Iterable[Node]) -> Iterator[None]:
    """Watches nodes as long as it is open, on a machine of others: there the runner is the first of its namespace.

    A VM is the lab's alone, and its kernel does the same when its memory has run out.
    """
    if os.getpid() != 1:
        yield
        return
    held = [node for node in nodes if node.holder]
    over = threading.Event()
    thread = threading.Thread(target=_watch, args=(held, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _watch(nodes: Sequence[Node], over: threading.Event) -> None:
    pause = INTERVAL
    while not over.wait(pause):
        began = time.monotonic()
        for node in nodes:
            if memory(node) > limits.MAX_MEMORY:
                node.shell.kill_all(node.holder)
        pause = max(INTERVAL, (time.monotonic() - began) / MAX_TIME_SHARE)


def memory(node: Node) -> int:
    """Bytes of memory of their own that the processes of a node have, as far as they use it: statm of proc(5)."""
    total = 0
    for name in _processes(node):
        # A process may end meanwhile.
        with suppress(OSError, ValueError):
            _, resident, shared, *_ = node.read(PROC / name / "statm").split()
            total += (int(resident) - int(shared)) * PAGE
    return total


def _processes(node: Node) -> list[str]:
    """The processes of a node but the one that holds it, by their ID there."""
    try:
        return [name for name in node.names(PROC) if name.isdigit() and name != HOLDER]
    except OSError:
        return []
