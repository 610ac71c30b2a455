"""When the first packet gets to each end, and when the first does that came from end to end: what captures say."""

import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.fakes import Call, FakeEvents, FakeShell, move_home
from tunbench.runner import stack
from tunbench.runner.declare.topology import PAIR
from tunbench.runner.network import underlay
from tunbench.runner.node.node import Node
from tunbench.runner.site import Site
from tunbench.runner.workload import Sample
from tunbench.runner.workloads.shared import first_packets

START, BEGAN = 100.0, 90.0


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    # The lab's clock is 1000 s behind the time of day.
    monkeypatch.setattr(time, "time", lambda: 1200.0)
    monkeypatch.setattr(time, "monotonic", lambda: 200.0)
    return move_home(monkeypatch, tmp_path)


def seen(*moments: float) -> bytes:
    """A capture of a packet of a byte each, at these moments of the lab's clock."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    records = (struct.pack("<IIII", int(at) + 1000, round(at % 1 * 1e6), 1, 1) + b"x" for at in moments)
    return head + b"".join(records)


def capturing(files: dict[str, bytes]) -> Callable[[Call, Path], None]:
    """A tcpdump that writes the file whose name has this in it."""

    def begin(call: Call, log: Path) -> None:
        path = Path(call.argv[call.argv.index("-w") + 1])
        path.write_bytes(next((data for name, data in files.items() if name in path.name), seen()))
        log.write_text("tcpdump: listening on any\n")

    return begin


def site(spelling: str, files: dict[str, bytes]) -> tuple[Site, FakeShell]:
    shell = FakeShell(begins={"tcpdump": capturing(files)})
    under = underlay.of("ip", PAIR, roles=stack.roles(spelling))
    nodes = {name: Node(name, shell, FakeEvents(), ["nsenter", "--target", name, "--"]) for name in under.names}
    for node in nodes.values():
        node.home.mkdir(exist_ok=True)
    built = stack.build(spelling, under.endpoints, beside=under.roles)
    return Site(nodes, under, built), shell


def measured(files: dict[str, bytes], spelling: str = "nebula:relay=on") -> list[Sample]:
    there, _ = site(spelling, files)
    with first_packets.watched(there, there.pair, "x") as some:
        return first_packets.samples(some, START, BEGAN)


def test_each_end_has_its_first_packet_and_its_first_direct_one() -> None:
    files = {
        "x-first-a": seen(101.5, 102),
        "x-first-b": seen(101.25),
        "x-direct-a": seen(104.0),
        "x-direct-b": seen(103.5, 110),
    }
    expected = [
        Sample("first", 1.5, 10.0, "a"),
        Sample("first", 1.25, 10.0, "b"),
        Sample("direct", 4.0, 10.0, "a"),
        Sample("direct", 3.5, 10.0, "b"),
    ]
    found = measured(files)
    assert [(one.metric, one.node, one.at) for one in found] == [(one.metric, one.node, one.at) for one in expected]
    assert [one.value for one in found] == pytest.approx([one.value for one in expected], abs=1e-6)


def test_without_a_direct_packet_there_is_no_sample_of_one() -> None:
    assert [(one.metric, one.node) for one in measured({"x-first-a": seen(101)})] == [("first", "a")]


def test_what_came_before_the_start_is_of_the_stack_that_was_there_then() -> None:
    assert measured({"x-first-a": seen(99.9)}) == []


def test_where_packets_have_one_way_nothing_is_captured() -> None:
    there, shell = site("wireguard", {})
    with first_packets.watched(there, there.pair, "x") as some:
        assert list(some) == []
    assert shell.started == []


def test_an_end_sees_what_comes_in_and_the_router_what_it_sends_there_directly() -> None:
    there, shell = site("nebula:relay=on", {})
    with first_packets.watched(there, there.pair, "x"):
        starts = [one.call for one in shell.started]
    inside = there.stack.overlay
    overlay, direct = starts[:2], starts[2:]
    assert [one.argv[one.argv.index("-i") + 1] for one in starts] == ["any", "any", "to-a", "to-b"]
    assert [one.argv[one.argv.index("-Q") + 1] for one in starts] == ["in", "in", "out", "out"]
    assert [one.argv[-1] for one in overlay] == [f"src host {inside[peer].address}" for peer in ("b", "a")]
    # A direct message of Nebula, and no relayed one; with a probe in it.
    assert all("udp[8:2] = 0x1100" in one.argv[-1] and "0x1101" not in one.argv[-1] for one in direct)
    assert all(one.argv[-1].endswith("and greater 130") for one in direct)
    assert all(one.ended == "stopped" for one in shell.started)


def test_the_other_end_is_waited_for_where_one_has_a_direct_path(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    def wait(condition: Callable[[], bool], timeout: float, pause: float) -> bool:
        waited.append(timeout)
        return condition()

    monkeypatch.setattr(first_packets, "wait_until", wait)
    for files, expected in (({"x-first-a": seen(101)}, []), ({"x-direct-a": seen(101)}, [5.0])):
        there, _ = site("nebula:relay=on", files)
        with first_packets.watched(there, there.pair, "x") as some:
            first_packets.wait_for_both(some)
        assert waited == expected
