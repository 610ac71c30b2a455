"""Small requests through a tunnel over TCP: what Nagle's algorithm holds back until an acknowledgement comes."""

from pathlib import Path

import pytest

from tests.helpers.measuring import execute, plan, values

pytestmark = pytest.mark.vm

DELAYED_ACK = 40e-3
"""Seconds that Linux waits at least with an acknowledgement for which nobody is in a hurry: TCP_DELACK_MIN."""


@pytest.mark.long
def test_pauses_of_40_ms_go_with_tcp_nodelay(tmp_path: Path) -> None:
    # An answer of two packets: the second one waits until the first is acknowledged, and nothing else is under way.
    stacks, workload = (
        ["openvpn:proto=tcp", "openvpn:proto=tcp,tcp-nodelay=on"],
        "http:size=2kB,requests=50,concurrency=1",
    )
    record = execute(tmp_path / "run", plan(stacks, '[{ name = "far", delay = "2ms" }]', [workload]))
    pausing, quick = (values(record, "latency", stack, whole=False) for stack in stacks)
    assert min(pausing) > DELAYED_ACK > 2 * max(quick)
    [few], [many] = (values(record, "request-rate", stack) for stack in stacks)
    assert many > 5 * few
