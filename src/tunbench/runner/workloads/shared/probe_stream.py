"""Sends an echo request at every interval and tells when no answers came; a program of its own, to run on a node.

It goes on through every error: an interface that is gone and comes back, a route that is away. The kernel of the other
node answers, so that no server has to run there. It prints, with times in nanoseconds of the lab's clock,

    ready                  it waits to be told to go
    begin AT               it goes
    gap FROM TO SENT       no answer arrived between these; the one that did at TO is to the request of SENT
    alive TO SENT          every tenth of a second in which answers come: the last one
    end SENT ANSWERED CPU  requests, those that were answered, and the processor time of it all
"""

import os
import select
import socket
import struct
import sys
import time

ICMP = struct.Struct("!BBHHH")
"""Type, code, checksum, identifier and sequence number: RFC 792, and RFC 4443, section 4.1."""

PAYLOAD = struct.Struct("!QQ40x")
"""Number and moment of a request, filled up to the 56 bytes that ping sends."""

HEAD = struct.Struct("!12H")
"""What is not zero in a request: its header, and number and moment."""

ECHOES = {4: (socket.IPPROTO_ICMP, 8, 0), 6: (socket.IPPROTO_ICMPV6, 128, 129)}
"""Protocol, type of a request and of a reply, by address family: RFC 792, and RFC 4443, sections 4.1 and 4.2."""

LEAST_GAP = 1.5
"""Intervals without an answer from which on it is told."""

SIGN = 100_000_000
"""Nanoseconds between two signs of life."""

LINGER = 500_000_000
"""Nanoseconds for which answers are waited for after the last request."""


class Record:
    """What has been answered, told as it comes."""

    def __init__(self, step: int, began: int) -> None:
        self.step = step
        self.last = self.told = began
        self.answered: set[int] = set()

    def add(self, number: int, sent: int) -> None:
        """Takes an answer to a request, and tells the gap that it ends, or a sign of life."""
        now = time.monotonic_ns()
        if not self.answered or now - self.last > LEAST_GAP * self.step:
            self.tell(now, "gap", self.last, now, sent)
        elif now - self.told >= SIGN:
            self.tell(now, "alive", now, sent)
        self.answered.add(number)
        self.last = now

    def tell(self, now: int, *words: object) -> None:
        """Prints a line."""
        print(*words, flush=True)
        self.told = now


def request(family: int, identifier: int, number: int, at: int) -> bytes:
    """An echo request. Over IPv6 the kernel writes the checksum."""
    packet = ICMP.pack(ECHOES[family][1], 0, 0, identifier, number & 0xFFFF) + PAYLOAD.pack(number, at)
    if family == 6:
        return packet
    # The Internet checksum (RFC 1071, section 1); zeros add nothing to it.
    total = sum(HEAD.unpack_from(packet))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return packet[:2] + struct.pack("!H", ~total & 0xFFFF) + packet[4:]


def answer(family: int, identifier: int, packet: bytes) -> tuple[int, int] | None:
    """Number and moment of the request that a packet answers, if it answers one of this process."""
    # An IPv4 socket gives the IP header, too: RFC 791, section 3.1.
    packet = packet[(packet[0] & 15) * 4 :] if family == 4 else packet
    if (
        len(packet) != 8 + PAYLOAD.size
        or packet[0] != ECHOES[family][2]
        or packet[4:6] != identifier.to_bytes(2, "big")
    ):
        return None
    number, at = PAYLOAD.unpack(packet[8:])
    return number, at


def send(raw: socket.socket, interface: bytes, address: str, packet: bytes) -> None:
    """Sends by that interface alone: while it is gone, nothing may leave by another one.

    It is looked up anew each time: one that was deleted and made again is another one to the kernel.
    """
    try:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface)
        raw.sendto(packet, (address, 0))
    except OSError:
        return


def receive(raw: socket.socket) -> bytes:
    """A packet that has arrived; empty where there is none, or an error instead."""
    try:
        return raw.recv(2048)
    except OSError:
        return b""


def main(interface: str, address: str, interval: str, limit: str, go: str, stop: str) -> None:
    """Probes from when the file `go` is there until the file `stop` is, and for `limit` seconds at most."""
    family, identifier, step = (6 if ":" in address else 4), os.getpid() & 0xFFFF, int(float(interval) * 1e9)
    raw = socket.socket(socket.AF_INET6 if family == 6 else socket.AF_INET, socket.SOCK_RAW, ECHOES[family][0])
    raw.setblocking(False)
    print("ready", flush=True)
    while not os.access(go, os.F_OK):
        time.sleep(step * 1e-9)
    slot = looked = time.monotonic_ns()
    end = slot + int(float(limit) * 1e9)
    record, sent = Record(step, slot), 0
    record.tell(slot, "begin", slot)
    while (now := time.monotonic_ns()) < end or (now < end + LINGER and len(record.answered) < sent):
        if now - looked >= SIGN:
            looked = now
            if os.access(stop, os.F_OK):
                end = min(end, now)
        if now >= slot:
            if now < end:
                sent += 1
                send(raw, interface.encode(), address, request(family, identifier, sent, now))
            # Moments that have passed meanwhile are left out.
            slot += step * ((now - slot) // step + 1)
        arrived, _, _ = select.select([raw], [], [], max(0, slot - time.monotonic_ns()) * 1e-9)
        if arrived and (packet := receive(raw)) and (found := answer(family, identifier, packet)):
            record.add(*found)
    print("end", sent, len(record.answered), time.process_time_ns(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
