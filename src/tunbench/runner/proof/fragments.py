"""Fragments of IP packets in captures: which belong together, and what they have in all."""

from collections.abc import Sequence
from typing import NamedTuple

FILTER = "(ip[6:2] & 0x3fff != 0) or (ip6[6] = 44)"
"""More fragments or an offset (RFC 791, section 3.1), or the fragment header (RFC 8200, section 4.5)."""

MORE_OR_OFFSET = 0x3FFF
FRAGMENT_HEADER = 44
"""The two marks of that filter."""


class Sent(NamedTuple):
    """The bytes of an IP packet as it was sent, the headers of all its fragments counted, and how many these are."""

    size: int
    pieces: int = 1


def joined(packets: Sequence[bytes]) -> list[Sent]:
    """The packets of a capture, without link-layer headers, each with its fragments as one, in the order of the first.

    RFC 791, section 2.3: addresses, protocol and identification say which fragments are of one packet; RFC 8200,
    section 4.5, has no protocol among them.
    """
    found: dict[object, list[int]] = {}
    for number, packet in enumerate(packets):
        found.setdefault(_whole(packet) or number, []).append(len(packet))
    return [Sent(sum(sizes), len(sizes)) for sizes in found.values()]


def _whole(packet: bytes) -> tuple[bytes, ...]:
    """What a fragment has in common with the others of its packet; nothing where it is no fragment."""
    version = packet[0] >> 4 if packet else 0
    if version == 4 and int.from_bytes(packet[6:8], "big") & MORE_OR_OFFSET:
        return packet[12:20], packet[9:10], packet[4:6]
    if version == 6 and packet[6:7] == bytes([FRAGMENT_HEADER]):
        return packet[8:40], packet[44:48]
    return ()
