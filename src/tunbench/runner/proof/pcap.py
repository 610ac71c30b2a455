"""Reads the classic pcap format: draft-ietf-opsawg-pcap."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

FILE_HEADER_SIZE = 24
"""Bytes before the first packet of a file; section 4."""

SNAP_LENGTH = 65535
"""Bytes of a packet that are kept: all of it."""

MICROSECONDS = 1e-6
"""The unit of the fraction of a second in a file of the usual kind; section 4."""

LINK_HEADERS = {1: 14, 12: 0, 101: 0, 113: 16, 276: 20}
"""Bytes before the network layer, by link type: Ethernet, raw IP (twice), Linux cooked (twice); pcap-linktype(7)."""


class Packet(NamedTuple):
    """The bytes of a packet that were kept, and how many it had when it was sent."""

    data: bytes
    sent: int


class Capture(NamedTuple):
    """The packets of a file, and the type of the link on which they were seen."""

    link_type: int
    packets: list[Packet]


def read(data: bytes) -> Capture:
    """What is in a file, as far as it is whole. Raises ValueError where it is no pcap file."""
    order = _byte_order(data)
    packets = [Packet(data[at : at + length], sent) for _, _, length, sent, at in _records(data, order)]
    return Capture(struct.unpack_from(order + "I", data, 20)[0], packets)


def moments(data: bytes) -> list[float]:
    """When each packet was seen, in seconds of the time of day. Raises ValueError where it is no pcap file."""
    return [seconds + fraction * MICROSECONDS for seconds, fraction, *_ in _records(data, _byte_order(data))]


def _byte_order(data: bytes) -> str:
    order = {b"\xd4\xc3\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">"}.get(data[:4])
    if order is None or len(data) < FILE_HEADER_SIZE:
        raise ValueError("is no pcap file")
    return order


def _records(data: bytes, order: str) -> Iterator[tuple[int, int, int, int, int]]:
    """Of each packet that is whole: seconds and their fraction, bytes kept, bytes sent, and where it begins."""
    offset = FILE_HEADER_SIZE
    while offset + 16 <= len(data):
        seconds, fraction, length, sent = struct.unpack_from(order + "IIII", data, offset)
        offset += 16
        if offset + length > len(data):
            break
        yield seconds, fraction, length, sent, offset
        offset += length


def network_layer(capture: Capture) -> list[bytes]:
    """Every packet without its link-layer header. Raises ValueError where not all of one was kept."""
    if capture.link_type not in LINK_HEADERS:
        raise ValueError(f"has the unknown link type {capture.link_type}")
    header = LINK_HEADERS[capture.link_type]
    for packet in capture.packets:
        size, sent = len(packet.data), packet.sent
        if not header < size == min(sent, SNAP_LENGTH):
            raise ValueError(f"has {size} B of a packet of {sent} B, whose link header has {header} B")
    return [packet.data[header:] for packet in capture.packets]
