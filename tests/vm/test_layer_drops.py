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
