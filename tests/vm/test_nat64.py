"""Accesses of IPv6 alone in the VM: what tunnels of IPv4 find behind two translators, and what it costs in bytes."""

from pathlib import Path

import pytest

from tests.helpers.measuring import execute, plan, values, verdicts
from tunbench.journal import journal

pytestmark = pytest.mark.vm

BASE = '["baseline"]'
ACCESS = '{ a = "cloud", b = "lte-nat64" }'


def test_a_tunnel_passes_both_translators_with_20_bytes_less(tmp_path: Path) -> None:
    stack = "wireguard"
    record = execute(tmp_path / "run", plan([stack], BASE, ["ping:count=3", "pmtu"], access=ACCESS), workers=1)
    assert set(verdicts(record).values()) == {("ok", "")}
    # 1480 for IPv4 on a link of 1500, less WireGuard's 60.
    assert values(record, "pmtu", stack) == [1420]
    assert values(record, "black-hole", stack) == [0]
    # 25 ± 10 ms each way at one end, 0.5 ms at the other.
    assert 0.03 < min(values(record, "rtt", stack, whole=False)) < 0.08
    events = list(journal.events(tmp_path / "run"))
    assert not [one for one in events if one["event"] in ("outside", "warning") and one.get("name") != "too-few-trials"]


@pytest.mark.long
def test_what_has_no_checksum_or_ports_of_its_own_passes_as_well(tmp_path: Path) -> None:
    access = '{ a = "cloud", b = { name = "x", family = "nat64", nat = "one-to-one", firewall = "open" } }'
    stacks = ["none", "ipsec:encap=on", "openvpn:proto=tcp", "gre"]
    record = execute(tmp_path / "run", plan(stacks, BASE, ["ping:count=3", "pmtu"], access=access), workers=1)
    assert set(verdicts(record).values()) == {("ok", "")}
    assert values(record, "pmtu", "none") == [1480]
