import struct
from pathlib import Path

import pytest

from tests.helpers.fakes import CAPTURED, MARKER, Begin, Call, FakeEvents, FakeShell, move_home, pcap, two_nodes
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result
from tunbench.runner.proof import capture
from tunbench.runner.workload import WorkloadFailed

SMALL = CAPTURED / "small.pcap"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def node(begin: Begin) -> tuple[Node, FakeShell]:
    shell = FakeShell(begins={"tcpdump": begin})
    return two_nodes(shell, FakeEvents())[0], shell


def listening(call: Call, log: Path) -> None:
    log.write_text("tcpdump: listening on eth0, link-type EN10MB (Ethernet), snapshot length 65535 bytes\n")


def test_a_real_capture_has_its_packets() -> None:
    found = capture.packets(SMALL)
    assert [len(packet) for packet in found] == [106] * 6 + [70]
    assert [MARKER in packet for packet in found] == [True] * 6 + [False]


@pytest.mark.parametrize("order", ["<", ">"])
def test_both_byte_orders_are_read(order: str, tmp_path: Path) -> None:
    sent = [b"first", b"", b"x" * 3000]
    (tmp_path / "some.pcap").write_bytes(pcap(sent, order))
    assert capture.packets(tmp_path / "some.pcap") == sent


def test_the_other_byte_order_is_really_another() -> None:
    assert pcap([], "<") != pcap([], ">")


def test_the_captured_length_counts_and_not_that_on_the_wire(tmp_path: Path) -> None:
    data = pcap([]) + struct.pack("<IIII", 0, 0, 3, 1500) + b"abc" + struct.pack("<IIII", 0, 0, 2, 2) + b"de"
    (tmp_path / "some.pcap").write_bytes(data)
    assert capture.packets(tmp_path / "some.pcap") == [b"abc", b"de"]


def ethernet(tmp_path: Path, kept: int, sent: int) -> Path:
    """A capture of an Ethernet packet that had so many bytes, of which so many were kept."""
    (tmp_path / "some.pcap").write_bytes(pcap([]) + struct.pack("<IIII", 0, 0, kept, sent) + bytes(kept))
    return tmp_path / "some.pcap"


@pytest.mark.parametrize(("kept", "sent", "size"), [(15, 15, 1), (1514, 1514, 1500), (65535, 65549, 65521)])
def test_a_size_is_without_the_link_header(kept: int, sent: int, size: int, tmp_path: Path) -> None:
    assert capture.sizes(ethernet(tmp_path, kept, sent)) == [size]


@pytest.mark.parametrize(("kept", "sent"), [(0, 0), (13, 13), (14, 14), (14, 1500), (1499, 1500), (0, 65549)])
def test_a_packet_that_was_cut_has_no_size(kept: int, sent: int, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"has {kept} B of a packet of {sent} B, whose link header has 14 B"):
        capture.sizes(ethernet(tmp_path, kept, sent))


@pytest.mark.parametrize("kept", [24, 25, 24 + 15, 24 + 16 + 106, 24 + 16 + 106 + 7])
def test_a_file_that_is_torn_between_or_in_the_head_of_packets_has_the_whole_ones(kept: int, tmp_path: Path) -> None:
    (tmp_path / "torn.pcap").write_bytes(SMALL.read_bytes()[:kept])
    assert capture.packets(tmp_path / "torn.pcap") == capture.packets(SMALL)[: (kept - 24) // 122]


def test_a_packet_that_is_torn_is_none(tmp_path: Path) -> None:
    (tmp_path / "torn.pcap").write_bytes(SMALL.read_bytes()[: 24 + 122 + 16 + 50])
    assert capture.packets(tmp_path / "torn.pcap") == capture.packets(SMALL)[:1]


@pytest.mark.parametrize(
    "content", [b"", b"\xd4\xc3\xb2", b"tcpdump: no such device\n", b"\x0a\x0d\x0d\x0a" + bytes(40)]
)
def test_what_is_no_capture_is_an_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "no.pcap").write_bytes(content)
    with pytest.raises(ValueError, match=r"no\.pcap is no pcap file"):
        capture.packets(tmp_path / "no.pcap")


def test_a_capture_runs_while_it_is_wanted(home: Path) -> None:
    a, shell = node(listening)
    with capture.capturing(a, "eth0", home / "a" / "x.pcap", "udp port 7"):
        assert shell.started[0].poll() is None
    assert shell.started[0].ended == "stopped"
    argv = shell.started[0].call.argv
    assert argv[:3] == ["tcpdump", "-i", "eth0"]
    assert argv[-3:] == ["-w", str(home / "a" / "x.pcap"), "udp port 7"]


def test_a_capture_ends_after_a_failure_inside(home: Path) -> None:
    a, shell = node(listening)
    with pytest.raises(OSError), capture.capturing(a, "eth0", home / "a" / "x.pcap"):
        raise OSError
    assert shell.started[0].ended == "stopped"
    assert shell.started[0].call.argv[-2] == "-w"


def test_a_capture_that_does_not_start_says_why(home: Path) -> None:
    def refused(call: Call, log: Path) -> int:
        log.write_text("tcpdump: nothing: No such device exists\n(No such device exists)\n")
        return 1

    a, _ = node(refused)
    with (
        pytest.raises(WorkloadFailed, match="tcpdump did not start: tcpdump: nothing: No such device exists"),
        capture.capturing(a, "nothing", home / "a" / "x.pcap"),
    ):
        pytest.fail("it did not start")


def test_a_filter_is_tcpdumps(home: Path) -> None:
    def select(call: Call) -> Result:
        Path(call.argv[4]).write_bytes(pcap([b"selected"]))
        return Result(0, "", "")

    shell = FakeShell({"tcpdump -r": select})
    a, _ = two_nodes(shell, FakeEvents())
    assert capture.filtered(a, home / "a" / "x.pcap", "ip proto 4") == [b"selected"]
    assert shell.calls[0].argv == [
        *("tcpdump", "-r", str(home / "a" / "x.pcap"), "-w", str(home / "a" / "x.selected"), "ip proto 4")
    ]


def test_a_filter_that_is_not_understood_is_an_error(home: Path) -> None:
    a, _ = two_nodes(FakeShell({"tcpdump": Result(1, "", "syntax error")}), FakeEvents())
    with pytest.raises(OSError):
        capture.filtered(a, home / "a" / "x.pcap", "ip protocol")
