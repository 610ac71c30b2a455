"""Timers of tunnels: who is reached behind a mapping that has ended, and who notices that its peer has forgotten it."""

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


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("daemon", ["strongswan", "libreswan"])
def test_a_peer_that_forgets_blocks_as_long_as_the_timers_of_dead_peer_detection_say(
    daemon: str, tmp_path: Path
) -> None:
    timeouts = {
        f"ipsec:daemon={daemon},ike=1,dpd-delay=5,dpd-timeout={seconds},dpd-action=restart": seconds
        for seconds in (15, 45)
    }
    record = execute(tmp_path / "run", plan(list(timeouts), BASE, ["recover:event=peer-forgets,times=1,interval=50ms"]))
    assert {(one.verdict, one.reason) for one in record.trials} == {("ok", "")}
    blocked = {seconds: values(record, "blocked", stack, whole=False)[0] for stack, seconds in timeouts.items()}
    # Seen: 14.95 and 44.95 s with strongSwan, which is the timeout less the interval; 24.15 and 54.20 with Libreswan.
    assert all(abs(blocked[seconds] - seconds) < (1 if daemon == "strongswan" else 12) for seconds in blocked)
    assert 24 < blocked[45] - blocked[15] < 36


@pytest.mark.long
def test_without_dead_peer_detection_nobody_notices_that_a_peer_has_forgotten(tmp_path: Path) -> None:
    # By IKEv2 a change of its own addresses has strongSwan ask its peer (MOBIKE, RFC 4555), and give up after 165 s.
    text = plan(["ipsec:ike=1"], BASE, ["recover:event=peer-forgets,times=1,interval=50ms"])
    record = execute(tmp_path / "run", text)
    [found] = [(one.verdict, one.reason) for one in record.trials if one.cell["workload"].startswith("recover")]
    assert found == ("failed", "no probe was answered within 300 s after the event")


@pytest.mark.long
def test_wireguard_notices_by_its_own_timer_that_a_peer_has_forgotten(tmp_path: Path) -> None:
    record = execute(tmp_path / "run", plan(["wireguard"], BASE, ["recover:event=peer-forgets,times=1,interval=50ms"]))
    assert {(one.verdict, one.reason) for one in record.trials} == {("ok", "")}
    # It begins a handshake 15 s after a packet that nobody answered: KEEPALIVE_TIMEOUT and REKEY_TIMEOUT of its paper.
    assert 14 < values(record, "blocked", "wireguard", whole=False)[0] < 17
