"""Large meshes: how long they take to come up, and how that grows with their number."""

from pathlib import Path

import pytest

from tests.helpers.measuring import execute
from tunbench.journal import journal
from tunbench.runner.declare import topology

pytestmark = [pytest.mark.vm, pytest.mark.long, pytest.mark.timeout(1800)]

PLAN = """\
name = "test"
topology = {topologies}
stacks = ["wireguard"]
workloads = ["ping:count=5"]
probes = []
[lab]
clock = "{clock}"
"""

SIZES = (5, 10, 20, 40)

MINUTE = 60.0
"""Seconds of wall clock, from the beginning of the boot, in which 50 nodes must answer."""


def mesh(nodes: int) -> str:
    return f"mesh:nodes={nodes}"


def test_the_cost_of_coming_up_grows_no_faster_than_the_number_of_pairs(tmp_path: Path) -> None:
    record = execute(tmp_path / "run", PLAN.format(topologies=[mesh(nodes) for nodes in SIZES], clock="virtual"))
    assert {trial.verdict for trial in record.trials} == {"ok"}
    took = {row["topology"]: row["value"] for one in record.trials for row in one.rows if row["metric"] == "connect"}
    # In virtual time these are instructions: nobody waits for anything while a mesh of WireGuard comes up.
    each = [took[mesh(nodes)] / len(topology.read(mesh(nodes)).pairs) for nodes in SIZES]
    assert each == sorted(each, reverse=True)


def test_fifty_nodes_come_up_within_a_minute_on_the_real_clock(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    record = execute(folder, PLAN.format(topologies=[mesh(50)], clock="real"), workers=1)
    assert {trial.verdict for trial in record.trials} == {"ok"}
    phases = {one["name"]: one["at"] for one in journal.events(folder) if one["event"] == "phase"}
    # The lab's clock begins with the kernel.
    assert phases["proof"] < MINUTE
