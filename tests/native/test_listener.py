"""What this kernel gives a raw socket of the datagrams for a receiver, whether that reads them or has ended."""

import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tunbench.runner.workloads.shared import arrivals, raw_listener
from tunbench.runner.workloads.shared.arrivals import Heard
from tunbench.runner.workloads.shared.raw_listener import ALL

pytestmark = [
    pytest.mark.native,
    pytest.mark.waiting,
    pytest.mark.skipif(os.geteuid() != 0, reason="a raw socket needs root"),
]

SIZE = 100
UDP_SEGMENT = 103
"""The option by which the kernel is given several datagrams at once: Linux, include/uapi/linux/udp.h."""

ADDRESSES = {4: "127.0.0.1", 6: "::1"}


def datagram(layout: str, number: int) -> bytes:
    clock = time.CLOCK_MONOTONIC if layout == "iperf3" else time.CLOCK_REALTIME
    moment = struct.pack("!II", *divmod(time.clock_gettime_ns(clock) // 1000, 1_000_000))
    counted = struct.pack("!i", number)
    return (moment + counted if layout == "iperf3" else counted + moment).ljust(SIZE, b"x")


def heard(folder: Path, layout: str, family: int, share: int, first: int) -> Heard:
    """Sends 100 datagrams from that number on: the last 30 at once, half to a closed port, and 40 behind the end.

    What accepts a stream of iperf3 comes behind two of them.
    """
    kind = socket.AF_INET6 if family == 6 else socket.AF_INET
    receiver, sender = socket.socket(kind, socket.SOCK_DGRAM), socket.socket(kind, socket.SOCK_DGRAM)
    receiver.bind((ADDRESSES[family], 0))
    port, stop = receiver.getsockname()[1], folder / "stop"
    server = socket.create_server((ADDRESSES[family], port), family=kind)
    control = socket.create_connection((ADDRESSES[family], port))
    words = [f"{family}", "lo", "1", f"{port}", layout, f"{SIZE}", f"{share}", "0.2", str(stop)]
    command = [sys.executable, "-I", "-S", str(raw_listener.__file__), *words]
    with server, control, subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        for number in range(first, first + 70):
            if number == first + 20:
                # Well behind what it waits, so that a busy machine has opened it by then.
                time.sleep(1.2)
            if number == first + 50:
                receiver.close()
            if number == first + 60:
                # As iperf3's client ends its test: by a byte over TCP to the same port.
                time.sleep(2 * raw_listener.WAKING / 1e9)
                control.sendall(raw_listener.TEST_END)
            if number == first + 2 and layout == "iperf3":
                sender.sendto(bytes(4), (ADDRESSES[family], port))
            sender.sendto(datagram(layout, number), (ADDRESSES[family], port))
        joined = b"".join(datagram(layout, number) for number in range(first + 70, first + 100))
        sender.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, SIZE)
        sender.sendto(joined, (ADDRESSES[family], port))
        stop.touch()
        return arrivals.parse(process.communicate(timeout=20)[0])


@pytest.mark.parametrize("family", ADDRESSES)
@pytest.mark.parametrize("layout", raw_listener.LAYOUTS)
def test_every_datagram_near_the_end_is_heard_and_a_share_of_those_before(
    layout: str, family: int, tmp_path: Path
) -> None:
    found = heard(tmp_path, layout, family, ALL // 4, first=1001)
    assert [number for _, number in found.tail] == list(range(1021, 1101))
    assert found.read == 40
    before = {number for number in range(1001, 1071) if raw_listener.chosen(number, ALL // 4)}
    # Of those that were handed over at once, the first decides for all.
    with_it = set(range(1071, 1101)) if raw_listener.chosen(1071, ALL // 4) else set()
    assert {one.number for one in found.share} == before | with_it
    early = sum(raw_listener.chosen(number, ALL // 4) for number in (1001, 1002))
    assert found.early == (early if layout == "iperf3" else 0)
    assert all(0 <= one.delay < 1e9 for one in found.share)


def test_the_first_datagrams_are_heard_whatever_the_share(tmp_path: Path) -> None:
    found = heard(tmp_path, "iperf3", 4, 1, first=1)
    assert ([one.number for one in found.share], found.early) == ([1], 2)


def test_without_a_share_nothing_is_heard_before_the_end(tmp_path: Path) -> None:
    found = heard(tmp_path, "iperf3", 4, 0, first=1)
    assert [number for _, number in found.tail] == list(range(21, 101))
    assert found.share == []
