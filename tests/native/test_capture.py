"""A capture has the last packet as well, however late tcpdump gets the processor."""

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from tests.helpers.fakes import FakeEvents, move_home
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import LocalShell
from tunbench.runner.proof import capture

pytestmark = [
    pytest.mark.native,
    pytest.mark.waiting,
    pytest.mark.skipif(os.geteuid() != 0, reason="a capture needs root"),
]

ADDRESS = "127.7.7.7"
"""Of this machine's own, to which nobody else speaks."""

ECHOES = 5
MEANWHILE = 0.3
"""Seconds after the last packet in which tcpdump does not get the processor."""


def test_what_tcpdump_has_not_read_yet_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = move_home(monkeypatch, tmp_path)
    node, path = Node("a", LocalShell(), FakeEvents(), []), home / "a" / "last.pcap"
    with capture.capturing(node, "lo", path, f"icmp and host {ADDRESS}"):
        [tcpdump] = tcpdumps(path)
        os.kill(tcpdump, signal.SIGSTOP)
        subprocess.run(["ping", "-q", "-c", str(ECHOES), "-i", "0.01", ADDRESS], check=True, capture_output=True)
        threading.Timer(MEANWHILE, os.kill, (tcpdump, signal.SIGCONT)).start()
    assert len(capture.packets(node, path)) == 2 * ECHOES


def tcpdumps(path: Path) -> list[int]:
    """Who captures into a file."""
    found = subprocess.run(["pgrep", "--full", f"tcpdump .*{path}"], capture_output=True, text=True)
    return [int(line) for line in found.stdout.split()]
