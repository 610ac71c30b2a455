"""Sends echo requests with a given payload, where ping repeats 16 bytes; a program of its own, so that it can run on a
node, and which imports little, because the lab's clock counts that.
"""

# What socket itself is made of; the library around it takes longer to import than all else here together.
import _socket as socket
import struct
import sys
import time

INTERVAL, REPLY_TIMEOUT = 0.02, 2.0
"""Seconds between requests, and for which each is waited for."""

REQUESTS = {4: (socket.IPPROTO_ICMP, 8), 6: (socket.IPPROTO_ICMPV6, 128)}
"""Protocol and type of an echo request, by address family: RFC 792, and RFC 4443, section 4.1."""


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


def main(address: str, payload: str, count: str) -> None:
    """Sends the requests one after the other, each when the one before has been answered or given up."""
    family = 6 if ":" in address else 4
    protocol, kind = REQUESTS[family]
    data = bytes.fromhex(payload)
    raw = socket.socket(socket.AF_INET6 if family == 6 else socket.AF_INET, socket.SOCK_RAW, protocol)
    raw.settimeout(REPLY_TIMEOUT)
    raw.connect((address, 0))
    for number in range(int(count)):
        if number:
            time.sleep(INTERVAL)
        raw.send(request(kind, number + 1, data))
        try:
            while data not in raw.recv(65535):
                pass
        except OSError:
            continue


if __name__ == "__main__":
    main(*sys.argv[1:])
