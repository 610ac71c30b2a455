"""What lies behind a gateway in the VM: delays, queues of every kind, NAT and filters, as the workloads see them."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.measuring import execute, plan, values
from tunbench.journal import journal
from tunbench.journal.record import Record

pytestmark = pytest.mark.vm

BASE = '["baseline"]'


def told(run: Path, kind: str) -> list[dict[str, Any]]:
    """The events of a kind."""
    return [event for event in journal.events(run) if event["event"] == kind]


def verdict_of(record: Record, **cell: str) -> tuple[str, str]:
    """The worst of a cell's trials, and why."""
    trials = [one for one in record.trials if all(one.cell[axis] == name for axis, name in cell.items())]
    worst = max(trials, key=lambda one: one.verdict != "ok")
    return worst.verdict, worst.reason


def test_a_way_behind_two_gateways_takes_what_both_links_take(tmp_path: Path) -> None:
    access = '["none", { default = "home-dsl", a = "cloud" }]'
    record = execute(tmp_path / "run", plan(["wireguard"], BASE, ["ping:count=5"], access=access))
    assert {one.verdict for one in record.trials} == {"ok"}
    base = min(values(record, "rtt", "wireguard", whole=False, access="none"))
    behind = min(values(record, "rtt", "wireguard", whole=False, access="home-dsl,a=cloud"))
    # An echo of 84 bytes is 128 of WireGuard, which pads it to 96; UDP, IPv4 and Ethernet, and 32 bytes of the line.
    bits = 8 * (128 + 8 + 20 + 14 + 32)
    sent = bits / 10e6 + bits / 50e6
    assert behind - base == pytest.approx(2 * (8e-3 + 0.5e-3 + 2 * 75e-6) + sent, abs=150e-6)
    assert told(tmp_path / "run", "outside") == []


def test_behind_two_firewalls_of_ipv6_a_tunnel_is_direct_and_nothing_is_translated(tmp_path: Path) -> None:
    stacks, access = ["none:underlay=ip6", "wireguard:outer=ipv6"], '{ name = "x", family = "v6" }'
    record = execute(tmp_path / "run", plan(stacks, BASE, ["ping:count=5"], access=access), workers=1)
    assert verdict_of(record, stack="wireguard:outer=ipv6") == ("ok", "")
    assert verdict_of(record, stack="none:underlay=ip6")[0] == "unsupported"
    rules = next((tmp_path / "run").rglob("commands.sh")).read_text()
    assert "unasked drop" in rules and "masquerade" not in rules


@pytest.mark.long
def test_short_queues_keep_a_loaded_line_quick(tmp_path: Path) -> None:
    line = '{ name = "line", link = { rate = "10M", queue = ["500ms", "fq_codel", "cake"] }, delay = "5ms" }'
    workload = "loaded-latency:direction=up,duration=5"
    record = execute(tmp_path / "run", plan(["none"], BASE, [workload], access=line))
    assert {one.verdict for one in record.trials} == {"ok"}
    increase = {
        queue: values(record, "increase-up", "none", access=f"line:link.queue={queue}")[0]
        for queue in ("500ms", "fq_codel", "cake")
    }
    assert increase["500ms"] > 0.2
    assert increase["fq_codel"] < increase["500ms"] / 10
    assert increase["cake"] < increase["500ms"] / 10
    dropped = {event["node"] for event in told(tmp_path / "run", "queue") if event["counters"]["link"]["drops"]}
    assert dropped == {"gateway-a"}
    assert {one.name for one in record.warnings if one.name != "too-few-trials"} == {"queue-drops"}


@pytest.mark.long
def test_one_flow_falls_with_its_round_trip_behind_a_policer_and_four_do_not(tmp_path: Path) -> None:
    link = '{ up = { rate = "20M", queue = "policer:burst=30kB" }, down = { rate = "200M" } }'
    access = f'{{ name = "policed", link = {link}, delay = ["1ms", "20ms"] }}'
    one, four = "iperf3-tcp:duration=8", "iperf3-tcp:duration=8,parallel=4"
    record = execute(tmp_path / "run", plan(["none"], BASE, [one, four], access=access))
    rates = {
        (flows, delay): values(record, "throughput", "none", workload=flows, access=f"policed:delay={delay}")[0]
        for flows in (one, four)
        for delay in ("1ms", "20ms")
    }
    assert rates[one, "20ms"] < 0.6 * rates[one, "1ms"]
    assert rates[four, "20ms"] > 1.3 * rates[one, "20ms"]
    assert rates[one, "1ms"] < 20e6 * 1448 / 1538


def test_a_direct_path_between_two_symmetric_nats_is_not_there(tmp_path: Path) -> None:
    access = '[{ default = "lte", a = "home-fibre" }, { default = "lte", a = "cloud" }]'
    record = execute(tmp_path / "run", plan(["none", "wireguard"], BASE, ["ping:count=5"], access=access))
    # Only one that lets in whoever comes is reached from behind a symmetric NAT, whose ports nobody knows.
    verdict, reason = verdict_of(record, stack="wireguard", access="lte,a=home-fibre")
    assert verdict == "failed"
    assert re.fullmatch(r"wireguard: b did not answer a within 50 s; gateway-a dropped \d+ by unasked; .*", reason)
    assert verdict_of(record, stack="wireguard", access="lte,a=cloud") == ("ok", "")
    verdict, reason = verdict_of(record, stack="none", access="lte,a=cloud")
    assert (verdict, reason) == (
        "unsupported",
        "without a tunnel nothing of a reaches b, whose gateway (lte) lets in what answers alone",
    )


@pytest.mark.long
def test_tcp_stalls_in_a_black_hole_and_a_clamp_or_probing_mends_it(tmp_path: Path) -> None:
    hole = 'link = { mtu = 1400, rate = "20M" }, icmp = "filtered"'
    accesses = f'[{{ name = "hole", {hole} }}, {{ name = "clamped", {hole}, mss = "path" }}]'
    probing = (
        'tuning = ["default", { name = "probing", sysctl = { "net.ipv4.tcp_mtu_probing" = "1" } }]\n'
        'exclude = [{ tuning = "probing", access = "clamped" }]\n[lab]'
    )
    workload = "iperf3-tcp:duration=15"
    text = plan(["none"], BASE, [workload], access=accesses).replace("[lab]", probing)
    record = execute(tmp_path / "run", text)

    def throughput(access: str, tuning: str) -> float:
        return values(record, "throughput", "none", access=access, tuning=tuning)[0]

    assert throughput("hole", "default") == 0
    assert throughput("clamped", "default") > 18e6
    # It takes some seconds until TCP suspects the size, and it begins with small segments.
    assert throughput("hole", "probing") > 5e6


@pytest.mark.long
def test_what_a_tunnel_sends_in_fragments_is_lost_where_none_passes(tmp_path: Path) -> None:
    accesses = (
        '[{ name = "cut", link = { mtu = 1400 } }, { name = "whole", link = { mtu = 1400 }, fragments = "dropped" }]'
    )
    stacks, workload = ["wireguard:mtu=1420", "wireguard:mtu=1340"], "iperf3-tcp:duration=2"
    record = execute(tmp_path / "run", plan(stacks, BASE, [workload], access=accesses))
    carried = {
        (stack, access): values(record, "throughput", stack, access=access)[0]
        for stack in stacks
        for access in ("cut", "whole")
    }
    large, small = stacks
    assert carried[large, "whole"] == 0
    assert min(carried[large, "cut"], carried[small, "cut"], carried[small, "whole"]) > 10e6
    dropped = {event["dropped"]["fragments"] > 0 for event in told(tmp_path / "run", "gateway")}
    assert dropped == {True, False}


@pytest.mark.long
def test_ipsec_fails_where_fragments_are_lost_and_none_is_told_but_not_where_it_cuts_before_it_encrypts(
    tmp_path: Path,
) -> None:
    access = '{ name = "lost", link = { mtu = 1400 }, fragments = "dropped", icmp = "filtered" }'
    # A packet of 1,500 B is cut to the overlay's MTU, and then encrypted piece by piece.
    stacks = ["ipsec:mode=xfrm", "ipsec:mode=xfrm,mtu=1300"]
    workloads = ["ping:count=5,size=1472", "iperf3-tcp:duration=3"]
    record = execute(tmp_path / "run", plan(stacks, BASE, workloads, access=access))
    late, early = stacks
    assert [values(record, "loss", stack) for stack in stacks] == [[1.0], [0.0]]
    assert values(record, "throughput", late) in ([], [0])
    assert values(record, "throughput", early)[0] > 10e6


@pytest.mark.long
def test_wireguard_stalls_in_a_black_hole_and_probing_mends_it(tmp_path: Path) -> None:
    access = '{ name = "hole", link = { mtu = 1400 }, fragments = "dropped", icmp = "filtered" }'
    probing = 'tuning = ["default", { name = "probing", sysctl = { "net.ipv4.tcp_mtu_probing" = "1" } }]\n[lab]'
    text = plan(["wireguard:mtu=1420"], BASE, ["iperf3-tcp:duration=15"], access=access).replace("[lab]", probing)
    record = execute(tmp_path / "run", text)
    stalled, probed = (
        values(record, "throughput", "wireguard:mtu=1420", tuning=tuning)[0] for tuning in ("default", "probing")
    )
    assert stalled == 0
    assert probed > 5e6


def test_the_mtu_behind_pppoe_is_derived_and_what_is_larger_is_cut(tmp_path: Path) -> None:
    stacks = ["wireguard", "wireguard:outer=ipv6,mtu=1420"]
    record = execute(tmp_path / "run", plan(stacks, BASE, ["pmtu"], link='{ name = "dsl", framing = "pppoe" }'))
    fits, cut = stacks
    # 1,492 B (RFC 2516, section 7), less the headers of IPv4, UDP and WireGuard.
    assert values(record, "pmtu", fits) == [1492 - 20 - 8 - 32]
    # WireGuard pads to 16 B where that leaves its MTU: the largest such packet that fits with the headers of IPv6.
    assert values(record, "pmtu", cut) == [(1492 - 40 - 8 - 32) // 16 * 16]


@pytest.mark.long
def test_who_is_closed_speaks_first_after_each_start(tmp_path: Path) -> None:
    access, workloads = '{ a = "cloud", b = "lte" }', ["connect:times=2", "recover:times=2"]
    record = execute(tmp_path / "run", plan(["wireguard"], BASE, workloads, access=access))
    assert {one.verdict for one in record.trials} == {"ok"}
    assert max(values(record, "connect", "wireguard", whole=False)) < 1
