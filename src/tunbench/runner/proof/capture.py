"""Captures by tcpdump, and what is in them. Reads the classic pcap format with the standard library."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import wait_until
from tunbench.runner.workload import WorkloadFailed

HEADER = 24
"""Bytes before the first packet of a pcap file; draft-ietf-opsawg-pcap, section 4."""

SNAP = 65535
"""Bytes of a packet that are kept: all of it."""


LINK_HEADERS = {1: 14, 12: 0, 101: 0, 113: 16, 276: 20}
"""Bytes before the network layer, by link type: Ethernet, raw IP (twice), Linux cooked (twice); pcap-linktype(7)."""


@contextmanager
def capturing(node: Node, interface: str, path: Path, expression: str = "", only: str = "inout") -> Iterator[None]:
    """Captures what passes an interface of the node into a file, from the first packet to the last.

    `only` is a direction: in, out or inout.
    """
    log = path.name
    printed = node.home / f"{log}.log"
    # What an earlier capture of that name printed says nothing of this one.
    printed.unlink(missing_ok=True)
    process = node.start(
        *("tcpdump", "-i", interface, "-n", "-p", "-U", "--immediate-mode", "-s", str(SNAP), "-Z", "root"),
        *("-Q", only, "-w", str(path), *([expression] if expression else [])),
        log=log,
    )
    try:
        if not wait_until(lambda: "listening on" in node.read(printed) or process.poll() is not None, 10):
            raise WorkloadFailed("tcpdump did not start within 10 s")
        if process.poll() is not None:
            raise WorkloadFailed(f"tcpdump did not start: {node.read(printed)}")
        yield
    finally:
        process.stop()


def packets(path: Path) -> list[bytes]:
    """The bytes of every packet of a pcap file, as far as it is whole. Raises ValueError where it is none."""
    return [packet for packet, _ in _read(path)[1]]


def sizes(path: Path) -> list[int]:
    """The bytes of every packet of a pcap file, without its link-layer header. Raises ValueError where one is cut."""
    kind, found = _read(path)
    if kind not in LINK_HEADERS:
        raise ValueError(f"{path} has the unknown link type {kind}")
    header = LINK_HEADERS[kind]
    for packet, sent in found:
        if not header < len(packet) == min(sent, SNAP):
            raise ValueError(f"{path} has {len(packet)} B of a packet of {sent} B, whose link header has {header} B")
    return [len(packet) - header for packet, _ in found]


def _read(path: Path) -> tuple[int, list[tuple[bytes, int]]]:
    """The link type of a pcap file, and its packets, each with the bytes that it had when it was sent."""
    data = path.read_bytes()
    order = {b"\xd4\xc3\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">"}.get(data[:4])
    if order is None or len(data) < HEADER:
        raise ValueError(f"{path} is no pcap file")
    found, offset = [], HEADER
    while offset + 16 <= len(data):
        length, sent = struct.unpack_from(order + "II", data, offset + 8)
        if offset + 16 + length > len(data):
            break
        found.append((data[offset + 16 : offset + 16 + length], sent))
        offset += 16 + length
    return struct.unpack_from(order + "I", data, 20)[0], found


def filtered(node: Node, path: Path, expression: str) -> list[bytes]:
    """The packets of a pcap file that pass a filter."""
    selected = path.with_suffix(".selected")
    node.shell.run([*node.enter, "tcpdump", "-r", str(path), "-w", str(selected), expression], 30)
    return packets(selected)
