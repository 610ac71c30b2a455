"""Packets that are cut inside a stack, where no capture between the nodes sees a fragment."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.helpers.measuring import execute, values, verdicts
from tunbench.analysis.overhead import LARGEST_PACKET_WORKLOAD
from tunbench.journal import journal
from tunbench.run import overhead

pytestmark = [pytest.mark.vm, pytest.mark.timeout(1200)]

XFRM = "ipsec:mode=xfrm+wireguard:mtu=1420"
POLICIES = "ipsec+wireguard:mtu=1420"
"""WireGuard makes 1,480 B of 1,420. An interface of 1,446 B cuts these, each piece is a packet of ESP, and none between
the nodes is a fragment; policies take them whole, and their 1,534 B are cut between the nodes."""


ON_THE_LINKS = [("a", "eth0"), ("router", "to-a"), ("b", "eth0"), ("router", "to-b")]


@pytest.mark.parametrize(
    ("stack", "added", "where"),
    [
        (XFRM, (112, 80), dict.fromkeys([("a", "ipsec-0"), ("b", "ipsec-0")], 18)),
        (POLICIES, (76, 60), dict.fromkeys(ON_THE_LINKS, 18)),
    ],
)
def test_what_is_cut_inside_a_stack_is_computed_and_measured(
    stack: str, added: Sequence[int], where: dict[tuple[str, str], int], tmp_path: Path
) -> None:
    record = execute(tmp_path / "run", overhead.plan([stack], [64]), workers=1)
    assert {told for told in verdicts(record).values()} == {("ok", "")}
    [check] = overhead.checks(tmp_path / "run", [stack], [64])
    assert check.agrees
    [small, full] = check.rows
    assert small.measured and full.measured
    assert (small.measured.on_the_wire, full.measured.on_the_wire) == (1, 2)
    assert (full.computed.packet, full.measured.added) == (1420, added)
    assert values(record, "pieces", stack, workload=LARGEST_PACKET_WORKLOAD) == [2]
    # Padded to 1,392 B, they are 1,452 B of WireGuard, which is too much; with 16 B less they fit.
    assert values(record, "pmtu", stack) == [1376]
    kernel = [event for event in journal.events(tmp_path / "run") if event["event"] == "kernel"]
    cut = [one["counters"] for one in kernel if (one["node"], one["workload"]) == ("a", LARGEST_PACKET_WORKLOAD)]
    assert cut == [{"IpFragOKs": 9, "IpFragCreates": 18}]
    told = [event for event in journal.events(tmp_path / "run") if event["event"] == "fragments"]
    passed = [one["passed"] for one in told if one["workload"] == LARGEST_PACKET_WORKLOAD]
    # Requests and their answers: 9 each, in two pieces.
    assert [{(one["node"], one["interface"]): one["fragments"] for one in rows} for rows in passed] == [where]
