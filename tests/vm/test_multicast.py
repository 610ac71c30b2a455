"""Who carries what is sent to a group, and who does not."""

from pathlib import Path

import pytest

from tests.helpers.measuring import execute, plan, values, verdicts
from tunbench.runner import stack as stacks
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.workloads import multicast

pytestmark = [pytest.mark.vm, pytest.mark.timeout(3000)]

CARRY = (
    "gre",
    "gretap",
    "ipip",
    "fou",
    "vxlan",
    "geneve",
    "l2tpv3",
    "openvpn",
    "openvpn:device=tap",
    "ipsec:mode=xfrm",
)
DO_NOT = ("none", "wireguard", "ipsec")
"""The router of the underlay routes no multicast; WireGuard sends to addresses that it allows a peer, and policies of
IPsec take what goes to the other endpoint's."""


def test_who_carries_multicast_is_who_claims_it(tmp_path: Path) -> None:
    stacks_of = [*CARRY, *DO_NOT]
    record = execute(tmp_path / "run", plan(stacks_of, '["baseline"]', ["multicast"]), workers=1)
    assert set(verdicts(record).values()) == {("ok", "")}
    assert {stack: values(record, "loss", stack) for stack in CARRY} == {stack: [0.0] for stack in CARRY}
    assert {stack: values(record, "loss", stack) for stack in DO_NOT} == {stack: [1.0] for stack in DO_NOT}
    ends = dict(PAIR_UNDERLAYS["ip"].endpoints)
    assert {stack for stack in stacks_of if multicast.carries(stacks.build(stack, ends))} == set(CARRY)
