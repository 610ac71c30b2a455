"""Sends echo requests whose payload no compression makes smaller; a program of its own, so that it can run on a node.

ping repeats a pattern of at most 16 bytes, which a tunnel that compresses would shrink to next to nothing.
"""

import hashlib
import socket
import struct
import sys
import time

PAYLOAD = 512
"""Bytes of payload in each request: packets that carry it stand out by their size."""

INTERVAL, REPLY_TIMEOUT = 0.02, 2.0
"""Seconds between requests, and for which each is waited for."""

REQUESTS = {4: (socket.IPPROTO_ICMP, 8), 6: (socket.IPPROTO_ICMPV6, 128)}
"""Protocol and type of an echo request, by address family: RFC 792, and RFC 4443, section 4.1."""


def payload(marker: bytes) -> bytes:
    """The marker, and behind it what follows from it and looks random."""
    return marker + hashlib.shake_256(marker).digest(PAYLOAD - len(marker))


def request(kind: int, number: int, data: bytes) -> bytes:
    """An echo request with that number."""
    packet = struct.pack("!BBHHH", kind, 0, 0, 1, number) + data
    return packet[:2] + struct.pack("!H", checksum(packet)) + packet[4:]


def checksum(packet: bytes) -> int:
    """The Internet checksum of a packet of an even length: RFC 1071, section 1."""
    total: int = sum(struct.unpack(f"!{len(packet) // 2}H", packet))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def main(address: str, marker: str, count: str) -> None:
    """Sends the requests one after the other, each when the one before has been answered or given up."""
    family = 6 if ":" in address else 4
    protocol, kind = REQUESTS[family]
    data = payload(bytes.fromhex(marker))
    with socket.socket(socket.AF_INET6 if family == 6 else socket.AF_INET, socket.SOCK_RAW, protocol) as raw:
        raw.settimeout(REPLY_TIMEOUT)
        raw.connect((address, 0))
        for number in range(1, int(count) + 1):
            raw.send(request(kind, number, data))
            try:
                while data not in raw.recv(65535):
                    pass
            except OSError:
                continue
            time.sleep(INTERVAL)


if __name__ == "__main__":
    main(*sys.argv[1:])
