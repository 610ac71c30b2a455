"""What packets have on every path that a plan may demand, computed and measured on the way to their destination."""

from pathlib import Path

import pytest

from tests.helpers.measuring import execute
from tunbench.run import overhead
from tunbench.runner import registry
from tunbench.runner.declare.path import DIRECT

pytestmark = [pytest.mark.vm, pytest.mark.long]

BROUGHT = ("zerotier",)
"""Whose programs are neither Debian's nor the toolbox's."""

STACKS = [
    f"{name}:path={path}"
    for name in registry.tunnel_names()
    for path in registry.tunnel(name).about.paths
    if name not in BROUGHT and path != DIRECT
]

PAYLOADS = (16, 64, 256, 512, 1024)


def test_a_packet_from_a_relay_is_as_large_as_is_computed(tmp_path: Path) -> None:
    stacks = [*STACKS, "easytier:transport=tcp,path=relay", "yggdrasil:transport=tcp,path=relay"]
    assert {"netbird:path=turn", "headscale:path=derp", "tinc:path=relay-tcp"} < set(stacks)
    execute(tmp_path / "run", overhead.plan(stacks, PAYLOADS))
    found = overhead.checks(tmp_path / "run", stacks, PAYLOADS)
    assert {check.stack: check.rows for check in found if not all(row.agrees for row in check.rows)} == {}
    assert {check.stack: check for check in found if not (check.mtu_agrees and check.mss_agrees)} == {}
    assert all(len(check.rows) >= len(PAYLOADS) for check in found)
