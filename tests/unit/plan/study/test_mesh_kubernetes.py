"""The file of the study mesh-kubernetes-2024: its grid, its places for netem, and what its published numbers tell."""

from collections import defaultdict
from dataclasses import replace

import pytest

from tests.helpers.study_files import plan, published, study
from tunbench.plan.estimate import duration
from tunbench.plan.expand import expand
from tunbench.runner.declare.topology import PLANE

NAME = "mesh-kubernetes-2024"
BASELINES = {"MTU 1450", "MTU 1230"}


def means(table: str) -> dict[tuple[str, str], float]:
    rows = [row for row in published(NAME) if row.table == table and row.statistic == "mean"]
    return {(row.system, row.condition): float(row.value) for row in rows}


def test_every_published_system_has_a_stack() -> None:
    told = study(NAME)["study"]
    systems = {row.system for row in published(NAME) if row.table == "TCP throughput"}
    assert systems == set(told["systems"]) and len(systems) == 8


@pytest.mark.parametrize(("table", "base"), [("TCP throughput", "MTU 1450"), ("TCP throughput", "MTU 1230")])
def test_what_is_told_of_the_baselines_agrees_by_all_systems(table: str, base: str) -> None:
    over = f"{base} over it"
    found = defaultdict(list)
    for row in published(NAME):
        if row.table == table and row.statistic == over:
            # A factor is rounded to hundredths.
            low, high = (means(table)[row.system, row.condition] * (float(row.value) + by) for by in (-0.005, 0.005))
            found[row.condition].append((low, high))
    assert len(found) == 7
    for condition, bounds in found.items():
        value = means(table)[base, condition]
        assert all(0.99 * low <= value <= 1.01 * high for low, high in bounds), condition


@pytest.mark.parametrize("ms", [50, 250, 350])
def test_udp_under_delay_is_what_a_queue_of_1000_packets_lets_through(ms: int) -> None:
    for table, base, length in (("UDP throughput", "MTU 1230", 1178), ("UDP throughput, MTU 1450", "MTU 1450", 1398)):
        assert means(table)[base, f"D: {ms} ms"] == pytest.approx(1000 * length * 8 / ms / 1e3, rel=0.02)


def test_netem_is_in_three_places_and_in_two_of_them_for_what_one_worker_sends() -> None:
    profiles = {shard.profile.name: shard.profile for shard in expand(replace(plan(NAME), repeats=1))}
    places = {name.partition(":")[0]: (one.placement, bool(one.reverse)) for name, one in profiles.items()}
    assert places == {
        "baseline": ("router", False),
        **dict.fromkeys(("loss", "delay"), ("endpoints", False)),
        **dict.fromkeys(("on-calico-loss", "on-calico-delay"), ("overlay", False)),
        **dict.fromkeys(("wire-loss", "wire-delay"), ("router", True)),
    }


def test_the_quick_scale_has_both_paths_of_two_vpns() -> None:
    shards = expand(plan(NAME, "quick"))
    assert len(shards) == 18 and duration.estimate(shards, 2) <= 3600
    vpns = ("headscale", "headscale:path=derp", "netbird", "netbird:path=turn")
    assert {shard.stack.name for shard in shards} == {
        *(f"calico:checksum-offload=off{mtu}" for mtu in ("", ",mtu=1230")),
        *(f"{vpn}+calico:checksum-offload=off" for vpn in vpns),
    }
    assert {shard.profile.name for shard in shards} == {"baseline", "loss:loss=5%", "delay:delay=50ms"}
    assert all(PLANE in shard.layout.topology.endpoints for shard in shards)
