"""Sends numbered datagrams to a group, or tells which of them arrive; a program of its own, to run on a node.

    send FAMILY INTERFACE GROUP PORT COUNT INTERVAL LENGTH    ends when it has sent all of them
    receive FAMILY INTERFACE GROUP PORT FILE                  until that file is there

It prints, with times in nanoseconds of the lab's clock,

    sent NUMBER REFUSED       when it ends: datagrams, and those that the kernel did not take
    ready                     the kernel has joined the group
    got NUMBER SENT ARRIVED   a datagram
"""

import os
import select
import socket
import struct
import sys
import time

HEAD = struct.Struct("!QQ")
"""Number and moment of a datagram; zeros fill it up."""

HOPS = 8
"""Routers that a datagram may pass: those within a stack."""

PATIENCE = 0.05
"""Seconds between two looks whether to end."""


def opened(family: str, interface: str) -> socket.socket:
    """A socket that sends and receives by that interface alone."""
    ends = socket.socket(socket.AF_INET6 if family == "6" else socket.AF_INET, socket.SOCK_DGRAM)
    ends.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
    return ends


def send(family: str, interface: str, group: str, port: str, count: str, interval: str, length: str) -> None:
    """Sends at even distances; what the kernel does not take is counted, and not sent again."""
    ends, index = opened(family, interface), socket.if_nametoindex(interface)
    if family == "6":
        ends.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
        ends.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, HOPS)
    else:
        ends.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, struct.pack("@4s4si", bytes(4), bytes(4), index))
        ends.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, HOPS)
    step, refused, due = float(interval), 0, time.monotonic()
    for number in range(1, int(count) + 1):
        data = HEAD.pack(number, time.monotonic_ns()).ljust(int(length), b"\0")
        try:
            ends.sendto(data, (group, int(port)))
        except OSError:
            refused += 1
        due += step
        time.sleep(max(0.0, due - time.monotonic()))
    print("sent", count, refused, flush=True)


def receive(family: str, interface: str, group: str, port: str, stop: str) -> None:
    """Joins the group, and tells each datagram that arrives."""
    ends, index = opened(family, interface), socket.if_nametoindex(interface)
    ends.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    ends.bind((group, int(port)))
    if family == "6":
        wanted = socket.inet_pton(socket.AF_INET6, group) + struct.pack("@I", index)
        ends.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, wanted)
    else:
        wanted = struct.pack("@4s4si", socket.inet_aton(group), bytes(4), index)
        ends.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, wanted)
    print("ready", flush=True)
    while not os.access(stop, os.F_OK):
        arrived, _, _ = select.select([ends], [], [], PATIENCE)
        if arrived:
            data = ends.recv(65535)
            now = time.monotonic_ns()
            if len(data) >= HEAD.size:
                print("got", *HEAD.unpack_from(data), now, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "send":
        send(*sys.argv[2:])
    else:
        receive(*sys.argv[2:])
