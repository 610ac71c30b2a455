"""Sends an MPEG transport stream of numbered datagrams, or tells which of them arrive; a program to run on a node.

    send PORT RATE SECONDS    to that port of this node, at so many bits a second
    receive PORT FILE         at that port of this node, until the file is there

Seven packets of 188 bytes are a datagram, as players expect it (ISO/IEC 13818-1 has the packet). Each of the seven has
the datagram's number, counted from 1, and its own in the continuity counter. It prints

    sent DATAGRAMS NANOSECONDS    when it ends, and how long it took by the lab's clock
    ready                         it hears
    got NUMBERS                   those that arrived whole, each once, in order: 7..9 is 7 8 9
    end ARRIVED BROKEN OVERTAKEN TWICE    datagrams: all, those that were none of these, behind a later one, again
"""

import os
import select
import socket
import struct
import sys
import time
from collections.abc import Iterable, Iterator
from itertools import groupby

PACKETS = 7
PACKET = 188
HEADER = struct.Struct("!BHBI")
"""Sync byte, flags and number of the stream, flags and continuity counter, and behind these the datagram's number."""

SYNC, STREAM, PAYLOAD = 0x47, 0x0100, 0x10
"""The first byte of a packet; the stream's number, as a packet says it; "payload follows, and nothing else"."""

SIZE = PACKETS * PACKET
"""Bytes of a datagram."""

PATIENCE = 0.05
"""Seconds between two looks whether to end."""


def datagram(number: int) -> bytes:
    """The datagram of that number."""
    counters = ((number * PACKETS + index) & 15 for index in range(PACKETS))
    heads = (HEADER.pack(SYNC, STREAM, PAYLOAD | counter, number) for counter in counters)
    return b"".join(head.ljust(PACKET, b"\xff") for head in heads)


def number_of(data: bytes) -> int:
    """The number of a datagram, 0 of what is none."""
    if len(data) != SIZE:
        return 0
    number: int = HEADER.unpack_from(data)[3]
    return number if data == datagram(number) else 0


def spans(numbers: Iterable[int]) -> Iterator[str]:
    """Numbers as words, in their order; those that follow one another are one word."""
    for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        yield f"{run[0]}..{run[-1]}" if len(run) > 1 else f"{run[0]}"


def send(port: str, rate: str, seconds: str) -> None:
    """Sends at even distances."""
    ends = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    gap = SIZE * 8 / float(rate)
    count = max(1, round(float(seconds) / gap))
    began = time.monotonic_ns()
    for number in range(1, count + 1):
        ends.sendto(datagram(number), ("127.0.0.1", int(port)))
        time.sleep(max(0.0, number * gap - (time.monotonic_ns() - began) * 1e-9))
    print("sent", count, time.monotonic_ns() - began, flush=True)


def receive(port: str, stop: str) -> None:
    """Notes what arrives, and tells it when it ends: it takes little of a processor until then."""
    ends = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ends.bind(("127.0.0.1", int(port)))
    print("ready", flush=True)
    seen: set[int] = set()
    arrived = broken = overtaken = twice = last = 0
    while not os.access(stop, os.F_OK):
        if not select.select([ends], [], [], PATIENCE)[0]:
            continue
        number = number_of(ends.recv(65535))
        arrived += 1
        if not number:
            broken += 1
            continue
        overtaken += number < last
        twice += number in seen
        last = max(last, number)
        seen.add(number)
    print("got", *spans(sorted(seen)))
    print("end", arrived, broken, overtaken, twice, flush=True)


if __name__ == "__main__":
    (send if sys.argv[1] == "send" else receive)(*sys.argv[2:])
