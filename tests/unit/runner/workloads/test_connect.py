"""The workload connect behind gateways: what was tried there is measured, and kept."""

import json
from pathlib import Path

import pytest

from tests.helpers.fakes import Answer, captured, move_home
from tests.helpers.probed_lab import ProbedLab
from tunbench.runner import stack
from tunbench.runner.declare.access import Access, Accesses
from tunbench.runner.declare.failures import StackFailed, WorkloadFailed
from tunbench.runner.declare.topology import PAIR
from tunbench.runner.network import underlay
from tunbench.runner.workload import Sample
from tunbench.runner.workloads import connect
from tunbench.runner.workloads.shared import blocked_time

CONNECT = captured("probe-connect.txt")
TRIED: dict[str, Answer] = {"list table inet tried": captured("tried.json")}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(blocked_time, "answered_since", lambda node, log, moment: True)
    monkeypatch.setattr(connect, "now", lambda: 2.6)
    folder = move_home(monkeypatch, tmp_path)
    for name in ("gateway-a", "gateway-b"):
        (folder / name).mkdir()
    return folder


def lab(access: Access | None) -> ProbedLab:
    return ProbedLab("vxlan", CONNECT, underlay.of("ip", PAIR, accesses=Accesses("any", access)), TRIED)


def test_what_was_tried_at_each_gateway_is_measured_at_each_start() -> None:
    there = lab(Access("home", nat="one-to-one", firewall="open"))
    trial = there.trial("connect", {"times": "2"})
    connect.execute(trial)
    counted = [one for one in trial.samples if one.metric in ("tried", "turned-away")]
    once = [
        Sample(metric, value, 0.0, node)
        for node in ("gateway-a", "gateway-b")
        for metric, value in (("tried", 9.0), ("turned-away", 2.0))
    ]
    assert counted == 2 * once
    rows = json.loads(trial.outputs["tried-1.json"])
    assert {"gateway": "gateway-b", "way": "out", "protocol": "udp", "port": 53, "packets": 1, "dropped": 1} in rows
    # Counting begins when the stack is down, and ends with the start.
    steps = [one for one in there.events.commands if "nft" in one or "link add" in one or "link del" in one]
    kinds = ["del" if "del" in one else "add" if "add" in one else "count" for one in steps]
    assert kinds == 2 * ["del", "del", "count", "count", "add", "add", "del", "del"]


def test_without_gateways_nothing_is_counted() -> None:
    there = lab(None)
    trial = there.trial("connect", {"times": "1"})
    connect.execute(trial)
    assert {one.metric for one in trial.samples} == {"connect"}
    assert list(trial.outputs) == ["probe-0.txt"]
    assert not any("nft" in text for text in there.shell.texts)


def test_a_start_that_fails_says_what_was_tried_in_vain(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise StackFailed("no answer")

    monkeypatch.setattr(stack, "lift", fail)
    there = lab(Access("home", nat="one-to-one", firewall="open"))
    with pytest.raises(
        WorkloadFailed, match="start 1: no answer; gateway-a dropped 1 of udp:7000 from outside; gateway"
    ):
        connect.execute(there.trial("connect", {}))
    assert sum(one.endswith("nft delete table inet tried") for one in there.events.commands) == 2
