"""Captures by tcpdump, and what is in them."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import SOON, wait_until
from tunbench.runner.proof import pcap

View = Callable[[], AbstractContextManager[tuple[Node, str]]]
"""Opens a place where one sees what a layer sends: a node, and an interface of it."""

READY_TIMEOUT = 10.0
"""Seconds in which tcpdump must listen."""

LAST_TIMEOUT = 10.0
"""Seconds that tcpdump may take to write what has passed before it is ended: it reads nothing any more from then on."""

FILTER_TIMEOUT = 30.0
"""Seconds that tcpdump may take to select packets of a file."""


@contextmanager
def capturing(node: Node, interface: str, path: Path, expression: str = "", direction: str = "inout") -> Iterator[None]:
    """Captures what passes an interface of the node into a file, from the first packet to the last.

    `direction` is in, out or inout.
    """
    printed = node.log(path.name)
    # What an earlier capture of that name printed says nothing of this one.
    node.remove(printed)
    process = node.start(
        *("tcpdump", "-i", interface, "-n", "-p", "-U", "--immediate-mode", "-s", str(pcap.SNAP_LENGTH), "-Z", "root"),
        *("-Q", direction, "-w", str(path), *([expression] if expression else [])),
        log=path.name,
    )
    try:
        if not wait_until(
            lambda: "listening on" in node.read(printed) or process.poll() is not None, READY_TIMEOUT, SOON
        ):
            raise WorkloadFailed(f"tcpdump did not start within {READY_TIMEOUT:g} s")
        if process.poll() is not None:
            raise WorkloadFailed(f"tcpdump did not start: {node.read(printed)}")
        yield
    finally:
        wait_until(process.at_rest, LAST_TIMEOUT, SOON)
        process.stop()


def is_empty(node: Node, path: Path) -> bool:
    """Whether a capture has no packet. Raises OSError."""
    return len(node.read_bytes(path)) <= pcap.FILE_HEADER_SIZE


def packets(node: Node, path: Path) -> list[bytes]:
    """The bytes of every packet of a capture, as far as it is whole. Raises ValueError where it is none."""
    with _of(path):
        return [packet.data for packet in pcap.read(node.read_bytes(path)).packets]


def network_layer(node: Node, path: Path) -> list[bytes]:
    """Every packet of a capture without its link-layer header. Raises ValueError where not all of one was kept."""
    with _of(path):
        return pcap.network_layer(pcap.read(node.read_bytes(path)))


def moments(node: Node, path: Path) -> list[float]:
    """When each packet of a capture was seen, in seconds of the lab's clock. Raises ValueError where it is none."""
    with _of(path):
        seen = pcap.moments(node.read_bytes(path))
    # A capture has the time of day.
    return [at - time.time() + time.monotonic() for at in seen]


def filtered(node: Node, path: Path, expression: str) -> list[bytes]:
    """The packets of a capture that pass a filter."""
    selected = path.with_suffix(".selected")
    node.ask("tcpdump", "-r", str(path), "-w", str(selected), expression, timeout=FILTER_TIMEOUT)
    return packets(node, selected)


@contextmanager
def _of(path: Path) -> Iterator[None]:
    """Says of which file a ValueError is."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path} {error}") from None
