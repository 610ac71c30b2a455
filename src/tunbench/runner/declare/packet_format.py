"""Formats of packets as data: which headers a layer adds, where that stands, and how it pads."""

from typing import NamedTuple


class Header(NamedTuple):
    """A header, trailer or field: its size in bytes, and where that is written."""

    name: str
    size: int
    source: str


def cut(packet: int, mtu: int, version: int) -> list[int]:
    """The bytes of the IP packets in which one passes a link of that MTU: itself, or its fragments.

    A fragment has whole units of 8 bytes after its header, all but the last (RFC 791, section 3.2; RFC 8200, section
    4.5, where a fragment header stands there besides).
    """
    header = IP[version].size + (FRAGMENT.size if version == 6 else 0)
    payload, room = packet - IP[version].size, (mtu - header) // 8 * 8
    if packet <= mtu or room <= 0:
        return [packet]
    return [header + min(room, payload - done) for done in range(0, payload, room)]


class Format(NamedTuple):
    """How a layer builds a packet around the one that it carries.

    `outside` is added as it is. `inside` is added to the packet, and both together are padded to a multiple of `block`
    bytes; the first `kept` bytes of the packet are taken out of that. With `clipped` the padding ends at the MTU. A
    packet can be smaller by up to `spare` bytes: with a field that is not always there, or with compression.
    """

    outside: tuple[Header, ...]
    inside: tuple[Header, ...] = ()
    block: int = 1
    kept: int = 0
    clipped: bool = False
    spare: int = 0

    def size(self, packet: int, mtu: int) -> int:
        """The bytes that a packet of so many bytes has below this layer, whose MTU is given."""
        padded = packet - self.kept + sum(header.size for header in self.inside)
        padded += -padded % self.block
        if self.clipped:
            padded = max(packet, min(padded, mtu))
        return self.kept + padded + sum(header.size for header in self.outside)

    @property
    def streams(self) -> bool:
        """Whether packets are carried by a stream of TCP, which cuts them by itself."""
        return TCP in self.outside

    def largest(self, below: int) -> int:
        """The MTU that this layer can have over one of `below` bytes; 0 where nothing fits."""
        room = below - sum(header.size for header in self.outside)
        if self.clipped:
            return max(0, room)
        # Padding takes less than a block of it.
        room -= sum(header.size for header in self.inside)
        return next((packet for packet in range(room, self.kept, -1) if self.size(packet, packet) <= below), 0)


IP = {4: Header("IPv4", 20, "RFC 791, section 3.1"), 6: Header("IPv6", 40, "RFC 8200, section 3")}
"""The outer IP header, without options, by version."""

FRAGMENT = Header("IPv6 fragment", 8, "RFC 8200, section 4.5")
UDP = Header("UDP", 8, "RFC 768")
TCP = Header("TCP with timestamps", 32, "RFC 9293, section 3.1, and RFC 7323, section 3.2")
ETHERNET = Header("inner Ethernet", 14, "IEEE 802.3, section 3.1.1, without the frame check sequence")
TLS = Header("TLS record, content type, AEAD tag", 22, "RFC 8446, section 5.2")
GRE = Header("GRE", 4, "RFC 2784, section 2.1")
