import os
import signal
from pathlib import Path

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell
from tunbench.runner.node import limits, memory_watch, processes
from tunbench.runner.node import node as node_module
from tunbench.runner.node.node import Node

GIB = 1 << 30


def node(name: str, holder: str) -> Node:
    return Node(name, FakeShell(), FakeEvents(), ["nsenter", "--target", holder, "--net", "--"])


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with the nodes a (101) and b (201); b has a process with 3 GiB, of which 1 GiB is shared."""
    monkeypatch.setattr(node_module, "ROOT", tmp_path)
    monkeypatch.setattr(processes, "PROC", proc := tmp_path / "proc")
    for holder, others in (("101", ["102"]), ("201", ["202", "203"])):
        for number, pid in enumerate([holder, *others], start=1):
            (proc / pid / "ns").mkdir(parents=True)
            (proc / pid / "ns" / "pid").symlink_to(f"pid:[{holder}]")
            inside = proc / holder / "root" / "proc" / str(number)
            inside.mkdir(parents=True)
            pages = 3 * GIB // memory_watch.PAGE if pid == "202" else 100
            shared = GIB // memory_watch.PAGE if pid == "202" else 0
            (inside / "statm").write_text(f"{10 * pages} {pages} {shared} 1 0 1 0\n")
    (proc / "201" / "root" / "proc" / "meminfo").touch()
    return proc


def killed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []

    def kill(pid: int, number: int) -> None:
        assert number == signal.SIGKILL
        found.append(pid)

    monkeypatch.setattr(os, "kill", kill)
    return found


def test_memory_is_what_the_processes_of_a_node_have_for_themselves(proc: Path) -> None:
    assert memory_watch.memory(node("a", "101")) == 100 * memory_watch.PAGE
    assert memory_watch.memory(node("b", "201")) == 2 * GIB + 100 * memory_watch.PAGE
    assert memory_watch.memory(node("gone", "999")) == 0


def test_a_node_that_takes_too_much_loses_all_its_processes_and_no_other_does(
    proc: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = killed(monkeypatch)
    monkeypatch.setattr(os, "getpid", lambda: 1)
    monkeypatch.setattr(memory_watch, "INTERVAL", 0.001)
    monkeypatch.setattr(limits, "MAX_MEMORY", GIB)
    with memory_watch.watched([node("a", "101"), node("b", "201"), Node("lab", FakeShell(), FakeEvents())]):
        while len(found) < 2:
            pass
    assert set(found) == {202, 203}, "the holder of b stays, and so does a"


def test_in_a_vm_nobody_looks(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_watch, "_watch", lambda *_: pytest.fail("it looked"))
    with memory_watch.watched([node("b", "201")]):
        pass
