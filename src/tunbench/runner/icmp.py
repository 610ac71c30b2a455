"""Echo requests and the sizes of their packets."""

from tunbench.runner.formats import IP

ECHO = 8
"""Bytes of the header of an echo request: RFC 792, and RFC 4443, section 4.1."""

PATIENCE = 2.0
"""Seconds for which ping waits for a reply over an unimpaired path."""


def packet_size(payload: int, family: int) -> int:
    """The bytes of the IP packet of an echo request."""
    return payload + ECHO + IP[family].size


def payload_size(packet: int, family: int) -> int:
    """The bytes of payload in an echo request whose IP packet has so many bytes."""
    return packet - ECHO - IP[family].size
