from pathlib import Path

import pytest

from tests.helpers.fakes import Begin, Call, FakeEvents, FakeShell, move_home, pcap, two_nodes
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result
from tunbench.runner.proof import capture


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def node(begin: Begin) -> tuple[Node, FakeShell]:
    shell = FakeShell(begins={"tcpdump": begin})
    return two_nodes(shell, FakeEvents())[0], shell


def listening(call: Call, log: Path) -> None:
    log.write_text("tcpdump: listening on eth0, link-type EN10MB (Ethernet), snapshot length 65535 bytes\n")


def test_what_is_no_capture_is_an_error_that_names_the_file(home: Path) -> None:
    a, _ = node(listening)
    (home / "a" / "no.pcap").write_text("tcpdump: no such device\n")
    with pytest.raises(ValueError, match=r"no\.pcap is no pcap file"):
        capture.packets(a, home / "a" / "no.pcap")


def test_the_size_of_a_packet_that_was_cut_is_an_error_that_names_the_file(home: Path) -> None:
    a, _ = node(listening)
    (home / "a" / "cut.pcap").write_bytes(pcap([bytes(14)]))
    with pytest.raises(ValueError, match=r"cut\.pcap has 14 B of a packet of 14 B"):
        capture.network_layer(a, home / "a" / "cut.pcap")


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
