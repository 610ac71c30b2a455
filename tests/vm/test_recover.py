"""Blocked time against the outage that was made, and a tunnel that is taken down and comes back, twice alike."""

from pathlib import Path

import pytest

from tests.helpers.measuring import execute, plan, values, verdicts
from tunbench.journal import journal

pytestmark = pytest.mark.vm

LINK = "recover:event=link,times=2"


def test_an_outage_of_a_second_blocks_a_second(tmp_path: Path) -> None:
    record = execute(tmp_path / "run", plan(["none"], '["baseline"]', [LINK, "ping:count=10"]))
    outages = values(record, "outage", "none", whole=False)
    assert len(outages) == 2
    for blocked, outage, recovery, lost in zip(
        values(record, "blocked", "none", whole=False),
        outages,
        values(record, "recovery", "none", whole=False),
        values(record, "lost", "none", whole=False),
        strict=True,
    ):
        assert 1 <= outage < 1.02
        # One interval of the probes before and after, and the question for the neighbour.
        assert abs(blocked - outage) < 0.003
        assert recovery == pytest.approx(max(0, blocked - outage))
        assert abs(lost * 0.001 - blocked) < 0.003
    # Nothing went around, and what follows finds the link as it was.
    assert verdicts(record)["none", "ping:count=10"][0] == "ok"
    assert not any(event["event"] == "outside" for event in journal.events(tmp_path / "run"))


@pytest.mark.long
def test_two_runs_are_alike(tmp_path: Path) -> None:
    workloads = ["connect:times=2", "recover:event=reboot,times=1", LINK]
    text = plan(["openvpn"], '["medium"]', workloads)
    first, second = (execute(tmp_path / name, text, 1) for name in ("first", "second"))
    assert {verdict for verdict, _ in verdicts(first).values()} == {"ok"}
    assert first.manifest["fingerprint"] == second.manifest["fingerprint"]
    assert len(values(first, "connect", "openvpn", whole=False)) == 2


def test_all_nodes_of_a_ring_come_back_whoever_begins_first(tmp_path: Path) -> None:
    stacks, restart = ["wireguard", "ipsec"], "recover:event=reboot-all,times=2,interval=50ms"
    text = plan(stacks, '["baseline"]', [restart, "ping:count=5"]).replace('"pair"', '"ring"')
    record = execute(tmp_path / "run", text)
    assert {verdict for verdict, _ in verdicts(record).values()} == {"ok"}
    for stack in stacks:
        blocked = values(record, "blocked", stack, whole=False)
        assert len(blocked) == 2 * 3 and 0.01 < min(blocked) <= max(blocked) < 5


RESTARTING = [
    *("none", "ipip", "gre", "fou", "gue", "geneve", "vxlan", "l2tpv3", "pptp", "openconnect", "yggdrasil", "easytier"),
    *("ipsec", "ipsec:mode=xfrm", "ipsec:mode=xfrm,daemon=libreswan", "wireguard", "wireguard:impl=go", "openvpn"),
    *(
        "openvpn:proto=tcp",
        "tinc",
        "nebula",
        "nebula:lighthouse=on",
        "headscale",
        "netbird",
        "vpncloud",
        "wireguard+vxlan",
    ),
]


@pytest.mark.long
def test_every_tunnel_comes_back_when_both_ends_restart(tmp_path: Path) -> None:
    restart = "recover:event=reboot-all,times=2,interval=10ms"
    record = execute(tmp_path / "run", plan(RESTARTING, '["baseline"]', [restart]))
    assert {stack: (verdict, why) for (stack, _), (verdict, why) in verdicts(record).items() if verdict != "ok"} == {}
    assert all(len(values(record, "blocked", stack, whole=False)) == 2 * 2 for stack in RESTARTING)
