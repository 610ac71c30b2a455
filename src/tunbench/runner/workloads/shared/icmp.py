"""Echo requests, the sizes of their packets, and how ping says that one was refused."""

import re

from tunbench.runner.declare.packet_format import IP

ECHO = 8
"""Bytes of the header of an echo request: RFC 792, and RFC 4443, section 4.1."""

REPLY_TIMEOUT = 2.0
"""Seconds for which ping waits for a reply over an unimpaired path."""

SPREAD = 8
"""Bytes by which requests of one size may differ below a layer that compresses: no two hold the same time."""


def packet_size(payload: int, family: int) -> int:
    """The bytes of the IP packet of an echo request."""
    return payload + ECHO + IP[family].size


def payload_size(packet: int, family: int) -> int:
    """The bytes of payload in an echo request whose IP packet has so many bytes."""
    return packet - ECHO - IP[family].size


REFUSED = re.compile(r"local error: message too long|Frag needed and DF set|Packet too big")
"""What ping prints of a request that must not be fragmented and does not fit: its own node, a router (IPv4, IPv6)."""
