"""A program of ours that listens on a node: it ends by itself when a file is there, so that all it heard is told."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import wait_until

ENDING_SECONDS = 2.0
"""Seconds in which it must have told everything when it is to end."""


@contextmanager
def listening(node: Node, *argv: str, log: str, within: float, what: str) -> Iterator[Path]:
    """The file of what it tells, from when it says `ready`; the file that ends it is its last argument.

    Raises WorkloadFailed where it is not ready within so many seconds; `what` says what did not happen.
    """
    stop, told = node.home / f"{log}.stop", node.log(log)
    # What an earlier trial told says nothing of this one.
    for path in (stop, told):
        node.remove(path)
    listener = node.start(*argv, str(stop), log=log)
    try:
        if not wait_until(lambda: "ready" in node.read(told) or listener.poll() is not None, within):
            raise WorkloadFailed(f"{what} within {within:g} s")
        yield told
    finally:
        node.touch(stop)
        wait_until(lambda: listener.poll() is not None, ENDING_SECONDS)
        listener.stop()
