"""A server for as long as a workload needs it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Process

LISTEN_TIMEOUT = 20.0
"""Seconds in which a server must listen."""

SOCKETS = {"tcp": "-Hltn", "udp": "-Hlun"}
"""What `ss` lists: sockets that listen, without names and without a heading."""


@contextmanager
def serving(
    node: Node, *argv: str, log: str, port: str, proto: str = "tcp", at_once: bool = False
) -> Iterator[Process]:
    """Runs a server from the moment at which it listens on its port, and ends it on leaving. Raises WorkloadFailed.

    It is asked to end, or ended `at_once` where it would go on with what it has begun.
    """
    server = node.start(*argv, log=log)
    try:
        if not node.until_prints("ss", SOCKETS[proto], f"sport = :{port}", timeout=LISTEN_TIMEOUT):
            name = PurePath(argv[0]).name
            raise WorkloadFailed(f"the {name} server did not listen on {proto} port {port} in {LISTEN_TIMEOUT:g} s")
        yield server
    finally:
        server.kill() if at_once else server.stop()
