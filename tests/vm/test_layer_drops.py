"""Why packets vanish inside a stack, by the counters of the kernel."""

from pathlib import Path

import pytest

from tests.helpers.measuring import execute, plan, values
from tunbench.journal import journal

pytestmark = pytest.mark.vm

REORDERING = '[{ name = "reordering", delay = "20ms", jitter = "20ms" }]'


def test_what_ipsec_loses_to_reordering_came_later_than_its_replay_window_holds(tmp_path: Path) -> None:
    record = execute(tmp_path / "run", plan(["ipsec"], REORDERING, ["iperf3-udp:rate=20M,duration=1,length=1400"]))
    [loss] = values(record, "loss", "ipsec")
    counted = [event["counters"] for event in journal.events(tmp_path / "run") if event["event"] == "kernel"]
    late = sum(one.get("XfrmInStateSeqError", 0) for one in counted)
    sent = 20e6 / 8 / 1400
    assert loss > 0.2
    # Some are of the connection by which iperf3 begins and ends, which repeats them.
    # A rounded share of the sent packets is not a whole number.
    assert -1 < late - loss * sent < 20
    assert "layer-drops" in {one.name for one in record.warnings}


def test_what_openvpn_loses_to_reordering_it_calls_a_replay(tmp_path: Path) -> None:
    record = execute(tmp_path / "run", plan(["openvpn"], REORDERING, ["iperf3-udp:rate=20M,duration=1,length=1300"]))
    [loss] = values(record, "loss", "openvpn")
    counted = [event["counters"] for event in journal.events(tmp_path / "run") if event["event"] == "kernel"]
    replayed = sum(one.get("openvpn-replayed", 0) for one in counted)
    assert loss > 0.02
    # Some are of the connection by which iperf3 begins and ends, which repeats them.
    assert -1 < replayed - loss * 20e6 / 8 / 1300 < 20
    assert "layer-drops" in {one.name for one in record.warnings}


def test_what_nebula_gets_twice_it_says_that_it_does_not_know(tmp_path: Path) -> None:
    twice = '[{ name = "twice", duplicate = "20%" }]'
    record = execute(tmp_path / "run", plan(["nebula"], twice, ["ping:count=200,interval=0.02"]), workers=1)
    counted = [event["counters"] for event in journal.events(tmp_path / "run") if event["event"] == "kernel"]
    unknown = sum(one.get("nebula-unknown", 0) for one in counted)
    # A request or an answer of five comes twice, before what it costs.
    assert unknown > 20
    assert sum(values(record, "layer-drops", "nebula")) == unknown
    assert any("were of no session that Nebula knows" in one.text for one in record.warnings)


def test_what_finds_the_socket_of_a_daemon_full_is_told_by_its_port(tmp_path: Path) -> None:
    # Segments of TCP arrive in bursts, and such a buffer holds two.
    stack = "openvpn:rcvbuf=4608"
    record = execute(tmp_path / "run", plan([stack], '["baseline"]', ["iperf3-tcp:duration=1"]), workers=1)
    kernel = [event for event in journal.events(tmp_path / "run") if event["event"] == "kernel"]
    [counted] = [event["counters"] for event in kernel if event["node"] == "b"]
    full = counted["UdpRcvbufErrors"]
    [(port, dropped)] = [(name, count) for name, count in counted.items() if name.startswith("udp-port-")]
    assert dropped == full > 0
    assert values(record, "socket-drops", stack, node="b") == [full]
    said = f"{full} datagrams found the socket of a daemon full, at UDP port {port.removeprefix('udp-port-')}"
    assert any(said in one.text for one in record.warnings)
