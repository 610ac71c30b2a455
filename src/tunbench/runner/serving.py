"""A server for as long as a workload needs it."""

from collections.abc import Iterator
from contextlib import contextmanager

from tunbench.runner.node import Node
from tunbench.runner.workload import WorkloadFailed

PATIENCE = 20.0
"""Seconds in which a server must listen."""

SOCKETS = {"tcp": "-Hltn", "udp": "-Hlun"}
"""What `ss` lists: sockets that listen, without names and without a heading."""


@contextmanager
def serving(node: Node, *argv: str, log: str, port: str, proto: str = "tcp") -> Iterator[None]:
    """Runs a server from the moment at which it listens on its port, and ends it on leaving. Raises WorkloadFailed."""
    server = node.start(*argv, log=log)
    try:
        if not node.until_prints("ss", SOCKETS[proto], f"sport = :{port}", timeout=PATIENCE):
            raise WorkloadFailed(f"{log} did not listen on {proto} port {port} in {PATIENCE:g} s")
        yield
    finally:
        server.stop()
