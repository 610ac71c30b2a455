"""Timers of tunnels: who is reached behind a mapping that has ended."""

from pathlib import Path

import pytest

from tests.helpers.measuring import execute, plan, values

pytestmark = pytest.mark.vm

BASE = '["baseline"]'


def test_behind_a_mapping_of_half_a_minute_a_peer_stays_reachable_by_its_keepalive(tmp_path: Path) -> None:
    stacks = ["wireguard", "wireguard:keepalive=25"]
    access = '{ b = { name = "home", nat = "port-restricted", mapping = "30s" } }'
    ping = "ping:count=5,interval=0.2"
    record = execute(tmp_path / "run", plan(stacks, BASE, ["idle:duration=60", ping], access=access))
    assert {one.verdict for one in record.trials} == {"ok"}
    assert [values(record, "loss", stack, workload=ping) for stack in stacks] == [[1.0], [0.0]]


def test_new_keys_of_ipsec_block_nothing(tmp_path: Path) -> None:
    record = execute(tmp_path / "run", plan(["ipsec"], BASE, ["recover:event=rekey,times=1"]))
    assert {(one.verdict, one.reason) for one in record.trials} == {("ok", "")}
    # Seen: 1 ms, which is the interval of the probes.
    assert values(record, "blocked", "ipsec", whole=False)[0] < 0.01
    assert values(record, "lost", "ipsec", whole=False) == [0.0]


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("stack", ["ipsec:daemon=libreswan", "openvpn:rekey=20", "tinc:key-expire=20", "wireguard"])
def test_new_keys_come_while_packets_pass(stack: str, tmp_path: Path) -> None:
    record = execute(tmp_path / "run", plan([stack], BASE, ["recover:event=rekey,times=1,interval=10ms"]))
    assert {(one.verdict, one.reason) for one in record.trials} == {("ok", "")}
    assert values(record, "blocked", stack, whole=False)[0] < 1
