"""Marks of packets outside and inside of a stack."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.helpers.fakes import Answer, Call, FakeEvents, FakeShell, move_home, pcap, two_nodes
from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.declare.options import resolve
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result
from tunbench.runner.workload import Trial
from tunbench.runner.workloads import marks
from tunbench.runner.workloads.marks import Marks

EF, CLEAR = Marks(46, 2), Marks(0, 2)


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def packet(version: int, octet: int, size: int = 600) -> bytes:
    """An IP packet with that traffic class."""
    head = bytes([0x45, octet]) if version == 4 else bytes([0x60 | octet >> 4, octet << 4 & 0xFF])
    return head.ljust(size, b"\0")


@pytest.mark.parametrize("version", [4, 6])
def test_the_marks_of_packets_are_read(version: int) -> None:
    packets = [packet(version, 0xBA), packet(version, 0xBA), packet(version, 0x03)]
    assert marks.parse(packets) == {EF: 2, Marks(0, 3): 1}


def test_a_packet_carries_a_request_that_is_of_the_largest_size_of_most() -> None:
    probes = [packet(4, 0, size) for size in (1425, 1425, 1425, 900)]
    # Compressed, they differ by some bytes.
    requests = [packet(4, 0xBA, size) for size in (391, 388, 390, 386, 391, 389, 388, 390)]
    acknowledgements = [packet(4, 0, 72)] * 8
    assert marks.carrying([*probes, *requests, *acknowledgements], 8) == requests
    assert marks.carrying(requests[:4], 8) == marks.carrying([], 8) == []


def test_what_is_no_ip_packet_has_no_marks() -> None:
    assert marks.parse([b"\x0c\xba".ljust(600, b"\0")]) == {Marks(0, 0): 1}


def test_shares_are_those_of_the_packets_in_each_place() -> None:
    found = marks.samples(46, Counter({EF: 15, CLEAR: 5}), Counter({EF: 20}), Counter({Marks(46, 3): 5, EF: 15}))
    assert [(one.metric, one.value) for one in found] == [
        ("dscp-outside", 0.75),
        ("ecn-outside", 1),
        ("dscp-inside", 1),
        ("congestion-inside", 0.25),
    ]


def test_nothing_is_said_of_what_arrives_where_it_is_not_seen() -> None:
    found = marks.samples(46, Counter({EF: 20}), Counter(), Counter())
    assert [one.metric for one in found] == ["dscp-outside", "ecn-outside"]
    with pytest.raises(WorkloadFailed, match="no packets between the nodes were seen as often as most requests"):
        marks.samples(46, Counter(), Counter({EF: 20}), Counter({EF: 20}))


def looking(answers: dict[str, Answer]) -> tuple[Trial, FakeShell]:
    def capture(call: Call, log: Path) -> None:
        log.write_text("listening on it\n")
        Path(call.argv[call.argv.index("-w") + 1]).write_bytes(pcap([bytes(14) + packet(4, 0xBA)] * 3))

    shell = FakeShell(answers, {"tcpdump": capture})
    client, server = two_nodes(shell, FakeEvents())

    @contextmanager
    def view() -> Iterator[tuple[Node, str]]:
        yield client, "to-b"

    options = resolve(marks.ABOUT.options, {"count": "3"}, "marks")
    return Trial(options, client, server, dict(PAIR_UNDERLAYS["ip"].endpoints), [view]), shell


def test_requests_are_marked_and_the_path_marks_them_once_more() -> None:
    trial, shell = looking({})
    marks.execute(trial)
    # ECT(0) stands in the lower two bits: 46 · 4 + 2.
    assert [text.split("-Q ")[1].split()[0] for text in shell.texts if text.startswith("ping")] == ["186", "186"]
    rules = [text for text in shell.texts if text.startswith("nft")]
    assert [text.split()[1] for text in rules] == ["-f", "delete"]
    assert json.loads(trial.outputs["marks.json"])["arrived"] == [{"dscp": 46, "ecn": 2, "packets": 3}]
    assert {one.metric: one.value for one in trial.samples}["congestion-inside"] == 0


def test_a_kernel_that_cannot_mark_is_told_and_nothing_is_taken_away() -> None:
    trial, shell = looking({"nft -f": lambda _: Result(1, "", "Error: Could not process rule")})
    with pytest.raises(Unsupported, match="this kernel cannot mark what leaves an interface: Error: Could not"):
        marks.execute(trial)
    assert not any("delete" in text for text in shell.texts)
