"""The paths of tunnels in the VM: what a plan demands, what is found behind gateways, and what is said without any."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.measuring import execute, plan, values, verdicts
from tunbench.journal import journal
from tunbench.journal.record import Record

pytestmark = pytest.mark.vm

BASE = '["baseline"]'
PING = "ping:count=20,interval=0.05"
RATE = "iperf3-tcp:duration=2"

BLOCKED_UDP = '{ name = "no-udp", firewall = "no-udp" }'
PORT_RESTRICTED = '{ name = "port-restricted", nat = "port-restricted" }'
SYMMETRIC = '{ name = "symmetric", nat = "symmetric" }'
ONLY_RELAY = '{ name = "only-relay", firewall = "only-relay" }'


def told(run: Path, kind: str) -> list[dict[str, Any]]:
    """The events of a kind."""
    return [event for event in journal.events(run) if event["event"] == kind]


def paths(record: Record) -> set[str]:
    """The paths that the trials of a run took."""
    return {trial.path for trial in record.trials}


def relay_of(run: Path) -> dict[str, Any]:
    """What the capture at the relay showed."""
    [finding] = [one for event in told(run, "proof") for one in event["findings"] if one["where"].endswith("/eth0")]
    return dict(finding)


@pytest.mark.long
@pytest.mark.parametrize(
    ("mesh", "path"),
    [
        ("nebula", "relay"),
        ("tinc", "relay"),
        ("tinc", "relay-tcp"),
        ("easytier", "relay"),
        ("easytier:transport=tcp", "relay"),
        ("yggdrasil", "relay"),
    ],
)
def test_a_mesh_goes_through_its_relay_where_a_plan_demands_it(mesh: str, path: str, tmp_path: Path) -> None:
    stack = f"{mesh},path={path}" if ":" in mesh else f"{mesh}:path={path}"
    record = execute(tmp_path / "run", plan([stack], BASE, [PING]))
    assert set(verdicts(record).values()) == {("ok", "")}
    assert paths(record) == {path}
    at_relay = relay_of(tmp_path / "run")
    # Each of ten packets comes in and goes out.
    assert (at_relay["where"], at_relay["evident"], at_relay["marked"], at_relay["hidden"]) == (
        *("relay/eth0", 20, 0),
        True,
    )
    assert {warning.name for warning in record.warnings} & {"relayed", "outside", "left-behind"} == set()


@pytest.mark.long
@pytest.mark.parametrize(("path", "through"), [("turn", "relay"), ("relay-quic", "control"), ("relay-ws", "control")])
def test_netbird_goes_through_the_relay_of_the_kind_that_a_plan_demands(
    path: str, through: str, tmp_path: Path
) -> None:
    record = execute(tmp_path / "run", plan([f"netbird:path={path}"], BASE, [PING]))
    assert set(verdicts(record).values()) == {("ok", "")}
    assert paths(record) == {path}
    at_relay = relay_of(tmp_path / "run")
    assert (at_relay["where"], at_relay["evident"], at_relay["marked"]) == (f"{through}/eth0", 20, 0)


@pytest.mark.long
@pytest.mark.parametrize("access", [SYMMETRIC, ONLY_RELAY])
def test_nebula_finds_its_relay_where_there_is_no_direct_path(access: str, tmp_path: Path) -> None:
    # A relay that is no lighthouse does not know the port of who is behind a symmetric NAT: that one must call it.
    record = execute(tmp_path / "run", plan(["nebula:relay=on,respond=on"], BASE, [PING], access=access))
    assert set(verdicts(record).values()) == {("ok", "")}
    assert paths(record) == {"relay"}


@pytest.mark.long
@pytest.mark.parametrize(
    ("stack", "access", "path"),
    [
        ("tinc:relay=on", PORT_RESTRICTED, "direct"),
        ("tinc:relay=on", SYMMETRIC, "relay"),
        ("tinc:relay=on", BLOCKED_UDP, "relay-tcp"),
        ("easytier:relay=on", '{ a = "cloud", default = "home-fibre" }', "direct"),
        ("easytier:relay=on", PORT_RESTRICTED, "relay"),
        ("easytier:relay=on,transport=tcp", '{ a = "cloud", default = "office" }', "direct"),
        ("easytier:relay=on,transport=tcp", BLOCKED_UDP, "relay"),
        ("yggdrasil:relay=on", '"none"', "direct"),
        ("yggdrasil:relay=on", PORT_RESTRICTED, "relay"),
    ],
)
def test_with_a_relay_a_mesh_takes_a_direct_path_where_there_is_one(
    stack: str, access: str, path: str, tmp_path: Path
) -> None:
    record = execute(tmp_path / "run", plan([stack], BASE, [PING], access=access))
    assert set(verdicts(record).values()) == {("ok", "")}
    assert paths(record) == {path}


@pytest.mark.long
def test_a_direct_path_that_cannot_be_fails_nebula_within_a_minute(tmp_path: Path) -> None:
    stack = "nebula:lighthouse=on,path=direct"
    record = execute(tmp_path / "run", plan([stack], BASE, [PING], access=SYMMETRIC))
    verdict, reason = verdicts(record)[stack, "up"]
    assert verdict == "failed"
    assert reason.startswith("nebula: b did not answer a within 50 s; gateway-a dropped ") and "unasked" in reason
    assert lasted(tmp_path / "run") < 60


@pytest.mark.long
def test_headscale_goes_through_derp_where_udp_is_blocked(tmp_path: Path) -> None:
    record = execute(tmp_path / "run", plan(["headscale"], BASE, [PING], access=BLOCKED_UDP))
    assert set(verdicts(record).values()) == {("ok", "")}
    assert paths(record) == {"derp"}
    assert relay_of(tmp_path / "run")["marked"] == 0


@pytest.mark.long
def test_headscale_without_the_direct_path_that_is_demanded_fails_within_a_minute(tmp_path: Path) -> None:
    record = execute(tmp_path / "run", plan(["headscale:path=direct"], BASE, [PING], access=BLOCKED_UDP))
    verdict, reason = verdicts(record)["headscale:path=direct", "up"]
    assert verdict == "failed"
    assert reason.startswith(
        "headscale: a found no direct path to b within 30 s; headscale says: pong from (100.64.0.2) via DERP"
    )
    assert "gateway-a dropped" in reason and "no-udp" in reason
    assert lasted(tmp_path / "run") < 60


@pytest.mark.long
def test_headscale_relayed_by_tcp_is_slower_and_faster_than_a_direct_path_that_loses_1_percent(tmp_path: Path) -> None:
    profiles = '["baseline", { name = "lossy", delay = "10ms", loss = "1%" }]'
    stacks = ["headscale:path=direct", "headscale:path=derp"]
    record = execute(tmp_path / "run", plan(stacks, profiles, [RATE]))
    assert set(verdicts(record).values()) == {("ok", "")}
    rate = {
        (stack, profile): values(record, "throughput", stack, profile=profile)[0]
        for stack in stacks
        for profile in ("baseline", "lossy")
    }
    direct, relayed = stacks
    assert rate[relayed, "baseline"] < rate[direct, "baseline"]
    assert rate[relayed, "lossy"] > rate[direct, "lossy"]


@pytest.mark.long
def test_headscale_between_two_symmetric_nats_is_relayed(tmp_path: Path) -> None:
    record = execute(tmp_path / "run", plan(["headscale"], BASE, [PING], access=SYMMETRIC))
    assert set(verdicts(record).values()) == {("ok", "")}
    assert paths(record) == {"derp"}


@pytest.mark.long
def test_headscale_falls_back_to_its_relay_and_returns(tmp_path: Path) -> None:
    workloads = ["connect:times=1", "recover:event=udp-block,times=1", "recover:event=udp-unblock,times=1"]
    record = execute(tmp_path / "run", plan(["headscale"], BASE, workloads))
    assert set(verdicts(record).values()) == {("ok", "")}
    assert values(record, "first", "headscale", whole=False) != []
    assert max(values(record, "blocked", "headscale", whole=False)) < 60
    assert 0 < values(record, "return", "headscale", whole=False)[0] < 60
    # Whatever happened meanwhile, each ends on the direct path, and nothing else is proven at any time. What is blocked
    # ends while it is, and is back in no second of its own.
    by_workload = {trial.cell["workload"]: trial.path for trial in record.trials}
    assert by_workload.pop(workloads[1]).startswith("direct, derp from ")
    # A node that has its direct path sends by it, while the other one may still answer through the relay.
    assert by_workload.pop(workloads[2]).split(", ")[-1].split(" ")[0] in ("direct", "mixed")
    assert set(by_workload.values()) == {"direct"}
    assert {event["path"] for event in told(tmp_path / "run", "path")} == {"direct"}


@pytest.mark.long
def test_a_path_that_changes_while_it_is_measured_is_told_with_the_second(tmp_path: Path) -> None:
    workload = "recover:event=udp-block,times=1"
    record = execute(tmp_path / "run", plan(["headscale"], BASE, [workload]))
    assert set(verdicts(record).values()) == {("ok", "")}
    [trial] = [trial for trial in record.trials if trial.cell["workload"] == workload]
    assert re.fullmatch(r"direct, derp from \d+ s(, .*)?", trial.path)
    [warned] = [warning.text for warning in record.warnings if warning.name == "path-changed"]
    assert warned == f"{workload}: {trial.path}"


def test_a_nat_that_forgets_is_reached_again_where_a_tunnel_keeps_its_mapping(tmp_path: Path) -> None:
    stacks, workload = ["wireguard:keepalive=5"], "recover:event=nat-rebind,times=1"
    access = '{ a = "cloud", b = { name = "kept", nat = "port-restricted" } }'
    record = execute(tmp_path / "run", plan(stacks, BASE, [workload], access=access))
    assert set(verdicts(record).values()) == {("ok", "")}
    # Nothing of `a` gets in before `b` has spoken.
    [blocked] = values(record, "blocked", stacks[0], whole=False)
    assert 0.1 < blocked < 6


def lasted(run: Path) -> float:
    """Seconds of the lab's time from the first daemon to the end."""
    began, ended = (
        next(event["at"] for event in journal.events(run) if event.get("name") == phase) for phase in ("up", "end")
    )
    return float(ended) - float(began)
