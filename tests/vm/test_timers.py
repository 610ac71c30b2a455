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
