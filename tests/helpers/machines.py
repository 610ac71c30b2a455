"""A machine whose /proc and /sys are folders, and the texts that such machines show."""

import os
import re
from pathlib import Path

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.node import node
from tunbench.runner.node.node import Node
from tunbench.runner.probe import Scene
from tunbench.runner.probes.shared import processor_time
from tunbench.runner.workload import Sample

OVERLAYS = {"a": Overlay("wireguard-0", "10.10.0.1", 24, 1420), "b": Overlay("wireguard-0", "10.10.0.2", 24, 1420)}

DEVICES = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo frame compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0
wireguard-0:{size} {packets}    0    0    0     0          0         0     9999      99    0    0    0     0       0
  eth0:  777777    7777    0    0    0     0          0         0    88888     888    0    0    0     0       0
"""

STATUS = "Name:\topenvpn\nVmPeak:\t   12000 kB\nVmHWM:\t    7168 kB\nVmRSS:\t    7000 kB\n"
STAT = "17 (open (vpn) x) S 1 17 17 0 -1 4194560 700 0 0 0 {user} {system} 0 0 20 0 1 0 55 12288000 1750"


class Machine:
    """A machine whose /proc and /sys are folders, with the nodes a and b."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes = [
            Node(name, FakeShell(), FakeEvents(), ["nsenter", "--target", pid, "--net", "--"])
            for name, pid in (("a", "101"), ("b", "102"))
        ]
        self.scene = Scene(self.nodes, OVERLAYS)

    def show(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def process(self, holder: str, number: int, user: int = 0, name: str = "open (vpn) x", peak: str = "7168") -> Path:
        folder = f"proc/{holder}/root/proc/{number}"
        self.show(f"{folder}/stat", STAT.format(user=user, system=2 * user).replace("open (vpn) x", name))
        self.show(f"{folder}/status", STATUS.replace("7168", peak))
        return self.show(f"{folder}/clear_refs", "").parent


def machine_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine that probes look at instead of this one."""
    monkeypatch.setattr(node, "ROOT", folder)
    return Machine(folder)


def one_core(monkeypatch: pytest.MonkeyPatch, cores: set[int] | None = None) -> list[set[int]]:
    """Lets the runner be allowed on these cores alone; where it asks to run is kept."""
    asked: list[set[int]] = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: cores or {0})
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, mask: asked.append(set(mask)))
    monkeypatch.setattr(os, "cpu_count", lambda: len(cores or {0}))
    return asked


def timers(text: str, later: float, idle: dict[int, float]) -> str:
    """A timer list some seconds later, of which each core was idle for so many."""

    def moved(pattern: str, seconds: float, within: str) -> str:
        def add(found: re.Match[str]) -> str:
            return f"{found[1]}{int(found[2]) + round(seconds * 1e9)}"

        return re.sub(pattern, add, within, count=1)

    head, *cores = re.split(r"(?=^cpu: )", moved(r"(now at )(\d+)", later, text), flags=re.MULTILINE)
    return head + "".join(moved(r"(idle_sleeptime : )(\d+)", idle[core], one) for core, one in enumerate(cores))


def values(samples: list[Sample], node: str = "lab") -> dict[str, float]:
    return {one.metric: one.value for one in samples if one.node == node}


def carry(machine: Machine, a: tuple[int, int], b: tuple[int, int]) -> None:
    for holder, (size, packets) in (("101", a), ("102", b)):
        machine.show(f"proc/{holder}/root/proc/1/net/dev", DEVICES.format(size=size, packets=packets))


def stat(text: str, **ticks: int) -> str:
    """/proc/stat in which the first core, and so all, have so many ticks more of each kind."""

    def add(line: str) -> str:
        name, *fields = line.split()
        more = [
            int(field) + ticks.get(kind, 0) for kind, field in zip(processor_time.PROCESSOR_TIMES, fields, strict=False)
        ]
        return " ".join([name, *map(str, more), *fields[8:]])

    lines = text.splitlines()
    return "\n".join(add(line) if re.match("cpu0? ", line) else line for line in lines) + "\n"
