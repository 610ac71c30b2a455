"""Hears what arrives beside a receiver of UDP, also when that has ended; a program of its own, to run on a node.

The kernel gives a raw socket (raw(7)) a copy of each datagram that UDP is given: fragments are put together, packets of
a tunnel decrypted, and nothing is taken away from the receiver. A filter of the kernel's lets a share of them through,
and near the end all of them. They wait in the socket and are read when the test is over: until then this sleeps.

It prints, with times in nanoseconds, and with numbers and moments of sending that stand in the datagrams,

    ready                               it hears, or will near the end
    early STREAM NUMBERS                those that came before the datagram by which the stream was accepted
    sample STREAM NUMBER SENT DELAY     one of the share: when it was sent, and how long it took
    tail STREAM NUMBERS                 all near the end, in the order of their arrival: 7..9 is 7 8 9
    read COUNT                          so many of these came early enough for iperf3 to read them before its test ended
    end MISSED STEP                     datagrams for which there was no room, and by how much the clock was set

STREAM is the port of the end that has not the test's own port: that of the client.
"""

import os
import select
import socket
import struct
import sys
import time
from array import array
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

SO_ATTACH_FILTER, SO_RCVBUFFORCE, SO_TIMESTAMPNS, SO_MEMINFO = 26, 33, 35, 55
"""Options of a socket that Python does not name: Linux, include/uapi/asm-generic/socket.h."""

MEMINFO = struct.Struct("9I")
"""What SO_MEMINFO tells: first the bytes that wait, last the packets for which there was no room."""

TIMESPEC = struct.Struct("ll")
SECOND = 1_000_000_000

ROOM = 128 << 20
"""Bytes that may wait, as the kernel counts them: it takes the double of what it is told."""

ETH_P_ALL = 3
"""All protocols; what leaves is told of to nobody else: Linux, include/uapi/linux/if_ether.h."""

UDP_HEADER, TCP_HEADER, IPV6_HEADER = 8, 20, 40
"""Bytes, without options."""

PORTS = struct.Struct("!HH")
NUMBER = struct.Struct("!i")
MOMENT = struct.Struct("!II")
"""A moment of sending: seconds and microseconds."""

TEST_END = b"\x04"
"""What iperf3's client sends to its server when the time is over, in a segment of TCP: src/iperf_api.h."""

WAKING = 1_000_000
"""Nanoseconds in which iperf3 has woken and read a datagram. What comes later waits, and is forgotten by its end."""

LEAST_PAYLOAD = 12
"""Bytes of a datagram that has a number and a moment. Those that open and accept a stream of iperf3 have four."""

FIRST = 256
"""Datagrams at the beginning of a stream that are heard, whether they are of the share or not."""


class Layout(NamedTuple):
    """Where in a datagram number and moment of sending stand, and whether that is of the real clock or the lab's."""

    number_at: int
    moment_at: int
    real: bool


LAYOUTS = {"iperf3": Layout(8, 0, real=False), "iperf2": Layout(0, 4, real=True)}
"""iperf 3.12, src/iperf_udp.c and src/iperf_time.c; iperf 2.1.8, include/payloads.h (UDP_datagram)."""

SPREAD = 2654435761
"""2^32 over the golden ratio: its multiples spread evenly (Knuth, The Art of Computer Programming, 6.4)."""

ALL = 0xFFFFFFFF
"""The share of which every datagram is one."""

QUIET, LIMIT, LOOK = 0.5, 20.0, 0.02
"""Seconds: without a datagram, behind which none comes any more; of waiting for them at most; between two looks."""


class Flow(NamedTuple):
    """Whose datagrams are heard: those by an interface from the test's port (`side` 0), or to it (`side` 1)."""

    family: int
    interface: str
    side: int
    port: int
    layout: Layout

    def filter(self, share: int) -> bytes:
        """The program that lets a share of them through, and all at the beginning of a stream.

        Over IPv4 the packet begins with its IP header, over IPv6 with that of UDP. One that is too short is dropped.
        Source: Linux, Documentation/networking/filter.rst.
        """
        steps = [
            (0xB1, 0, 0, 0) if self.family == 4 else (0x01, 0, 0, 0),  # x = 4 * (first byte & 15), or 0
            (0x48, 0, 0, 2 * self.side),  # the port at x
            (0x15, 0, 8, self.port),  # another one: drop
            (0x48, 0, 0, 4),  # the length that UDP tells
            (0x35, 0, 5, UDP_HEADER + LEAST_PAYLOAD),  # less: take it
            (0x40, 0, 0, UDP_HEADER + self.layout.number_at),  # the number
            (0x35, 0, 3, FIRST),  # less: take it
            (0x74, 0, 0, 1),  # >> 1
            (0x24, 0, 0, SPREAD),  # * SPREAD
            (0x25, 1, 0, share),  # more: drop
            (0x06, 0, 0, ALL),  # take the whole packet
            (0x06, 0, 0, 0),  # drop it
        ]
        return b"".join(struct.pack("HBBI", *step) for step in steps)

    def ends(self, packet: memoryview) -> bool:
        """Whether a packet tells the server that iperf3's test is over."""
        header, size = IPV6_HEADER, IPV6_HEADER + int.from_bytes(packet[4:6])
        if self.family == 4:
            header, size = (packet[0] & 15) * 4, int.from_bytes(packet[2:4])
        tcp = packet[header:size]
        return (
            packet[0] >> 4 == self.family
            and len(tcp) > TCP_HEADER
            and PORTS.unpack_from(tcp)[1] == self.port
            and tcp[(tcp[12] >> 4) * 4 :] == TEST_END
        )

    def stream_of(self, packet: memoryview) -> tuple[int, memoryview] | None:
        """The stream of a packet and its payload; None where it came before there was a filter, and is of another."""
        udp = packet[(packet[0] & 15) * 4 :] if self.family == 4 else packet
        ports = PORTS.unpack_from(udp)
        return (ports[1 - self.side], udp[UDP_HEADER:]) if ports[self.side] == self.port else None


def chosen(number: int, share: int) -> bool:
    """Whether a datagram is one of the share: with each even number goes the odd one behind it."""
    return ((number & ALL) >> 1) * SPREAD & ALL <= share


def opened(flow: Flow) -> socket.socket:
    """A socket that is given what comes by the interface: a tunnel's own packets come by another one."""
    raw = socket.socket(socket.AF_INET6 if flow.family == 6 else socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
    raw.setblocking(False)
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, flow.interface.encode())
    raw.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
    raw.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    return raw


def tapped(flow: Flow) -> socket.socket:
    """A socket that is given each packet of TCP that comes or goes by the interface, from its IP header on (packet(7)).

    The filter knows one version of IP, so that a packet of the other may pass it.
    """
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM)
    tap.setblocking(False)
    tap.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    protocol_at = 9 if flow.family == 4 else 6
    steps = [(0x30, 0, 0, protocol_at), (0x15, 0, 1, socket.IPPROTO_TCP), (0x06, 0, 0, ALL), (0x06, 0, 0, 0)]
    admit(tap, b"".join(struct.pack("HBBI", *step) for step in steps))
    tap.bind((flow.interface, ETH_P_ALL))
    return tap


def admit(raw: socket.socket, code: bytes) -> None:
    """Lets through what a program takes, in place of what another one took."""
    held = array("B", code)
    address, size = held.buffer_info()
    raw.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", size // 8, address))


def meminfo(raw: socket.socket) -> tuple[int, ...]:
    """What the kernel tells of a socket's memory."""
    return MEMINFO.unpack(raw.getsockopt(socket.SOL_SOCKET, SO_MEMINFO, MEMINFO.size))


def clocks_apart() -> int:
    """Nanoseconds by which the real clock, in which the kernel tells arrivals, is ahead of the lab's own."""
    tries = []
    for _ in range(5):
        before, real, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        tries.append((after - before, real - (before + after) // 2))
    return min(tries)[1]


def waiting(raw: socket.socket, room: memoryview) -> Iterator[tuple[int, memoryview]]:
    """When each of the packets that wait arrived, in real time, and the packet itself."""
    while True:
        try:
            size, told, _, _ = raw.recvmsg_into([room], 64)
        except BlockingIOError:
            return
        seconds, nanoseconds = TIMESPEC.unpack(told[0][2]) if told else (0, 0)
        yield seconds * SECOND + nanoseconds, room[:size]


def arrivals(raw: socket.socket, stop: str) -> Iterator[tuple[int, memoryview]]:
    """The same of all packets, until the test is over and none comes any more. They wait while there is room."""
    room = memoryview(bytearray(1 << 17))
    while not os.access(stop, os.F_OK):
        if meminfo(raw)[0] > ROOM:
            yield from waiting(raw, room)
        time.sleep(LOOK)
    end = time.monotonic() + LIMIT
    while time.monotonic() < end and select.select([raw], [], [], QUIET)[0]:
        yield from waiting(raw, room)


def spans(numbers: Iterable[int]) -> Iterator[str]:
    """Numbers as words, in their order; those that follow one another are one word."""
    for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        yield f"{run[0]}..{run[-1]}" if len(run) > 1 else f"{run[0]}"


def hear(flow: Flow, size: int, share: int, lead: float, stop: str) -> None:
    """Hears a share for `lead` seconds, then everything until the file `stop` is there and nothing comes any more.

    Without a share it begins to hear behind `lead`. Several datagrams of `size` bytes of payload may have been joined
    to one, by the sender's kernel or by the daemon of a tunnel: the first of them decides for all.
    """
    ahead = clocks_apart()
    raw = opened(flow) if share else None
    if raw:
        admit(raw, flow.filter(share))
    print("ready", flush=True)
    time.sleep(lead)
    raw = raw or opened(flow)
    tap = tapped(flow)
    began = time.time_ns()
    admit(raw, flow.filter(ALL))
    early: dict[int, list[int]] = {}
    accepted: set[int] = set()
    tail: list[tuple[int, int]] = []
    tail_arrived: list[int] = []
    for arrived, packet in arrivals(raw, stop):
        stream, payload = flow.stream_of(packet) or (0, b"")
        parts = [payload[at : at + size] for at in range(0, len(payload), size)]
        found = [(NUMBER.unpack_from(one, flow.layout.number_at)[0], one) for one in parts if len(one) >= LEAST_PAYLOAD]
        if not found:
            accepted.add(stream)
        if stream not in accepted:
            early.setdefault(stream, []).extend(number for number, _ in found)
        if arrived >= began:
            tail += [(stream, number) for number, _ in found]
            tail_arrived += [arrived] * len(found)
        if share and found and chosen(found[0][0], share):
            for number, one in found:
                seconds, microseconds = MOMENT.unpack_from(one, flow.layout.moment_at)
                sent = seconds * SECOND + microseconds * 1000
                print("sample", stream, number, sent, arrived - sent - (0 if flow.layout.real else ahead))
    for stream in accepted & early.keys():
        print("early", stream, *spans(early[stream]))
    for stream, group in groupby(tail, lambda pair: pair[0]):
        print("tail", stream, *spans(number for _, number in group))
    ended = [at for at, packet in waiting(tap, memoryview(bytearray(1 << 17))) if flow.ends(packet)]
    if ended:
        print("read", sum(arrived < ended[0] - WAKING for arrived in tail_arrived))
    print("end", meminfo(raw)[-1], clocks_apart() - ahead, flush=True)


def main(family: str, interface: str, side: str, port: str, layout: str, *words: str) -> None:
    """Reads its arguments: those of a flow, and those of `hear` behind them."""
    size, share, lead, stop = words
    flow = Flow(int(family), interface, int(side), int(port), LAYOUTS[layout])
    hear(flow, int(size), int(share), float(lead), stop)


if __name__ == "__main__":
    main(*sys.argv[1:])
