"""The links of the studies are those of their test beds."""

import re
from dataclasses import replace

import pytest

from tests.helpers.study_files import plan, published
from tunbench.plan.axes.machine import Machine
from tunbench.plan.cautions import judges_bundles
from tunbench.plan.expand import expand
from tunbench.runner.declare.link import Link


def links(name: str) -> dict[str, Link]:
    return {link.name: link for link in plan(name).values["link"] if isinstance(link, Link)}


def published_ms(name: str, table: str, system: str, condition: str, statistic: str) -> float:
    key = (table, system, condition, "rtt", statistic)
    [found] = [row.value for row in published(name) if row[:5] == key]
    return float(found)


def test_a_round_trip_over_the_switch_of_the_thesis_takes_what_its_ping_says() -> None:
    said = published_ms("mesh-thesis-2026", "ping at baseline", "Internal", "Baseline", "mean")
    for link in links("mesh-thesis-2026").values():
        assert link.base_round_trip * 1e3 == pytest.approx(said)


def test_a_round_trip_over_the_cable_of_the_raspberry_pis_leaves_the_nodes_a_little_of_what_their_ping_says() -> None:
    said = published_ms("raspberry-pi-2021", "ideal ping", "none", "ideal network", "mean")
    for link in links("raspberry-pi-2021").values():
        assert 0.8 * said < link.base_round_trip * 1e3 < said


def test_both_links_of_the_overlays_differ_in_their_mtu_alone() -> None:
    small, large = links("overlay-2024").values()
    assert (small.mtu, large.mtu) == (1500, 9000)
    assert replace(large, name=small.name, mtu=small.mtu) == small
    assert small.up.rate == small.down.rate == 1e9


def judged_as_bundles(name: str) -> set[tuple[str, str]]:
    """The profiles and links of a study where netem takes a bundle of packets for one."""
    conditions = {(shard.profile.name, shard.link.name): shard for shard in expand(replace(plan(name), repeats=1))}
    return {one for one, shard in conditions.items() if judges_bundles(shard.profile, shard.link)}


def test_the_thesis_has_bundles_where_netem_is_on_the_hosts() -> None:
    judged = {(f"endpoints-{name}", "mesh-testbed-2026") for name in ("low", "medium", "high")}
    assert judged_as_bundles("mesh-thesis-2026") == judged


def test_the_raspberry_pis_have_bundles_where_netem_was_theirs_and_packets_where_it_is_on_a_third_machine() -> None:
    judged = judged_as_bundles("raspberry-pi-2021")
    assert {link for _, link in judged} == {"pi4"}
    # A delay alone does the same to all.
    assert {re.sub("[:-].*", "", profile) for profile, _ in judged} == {"jitter", "loss", "network"}


def test_what_the_thesis_has_as_a_wire_it_has_at_the_hosts_as_well() -> None:
    as_a_wire, at_the_hosts = set(), set()
    for shard in expand(replace(plan("mesh-thesis-2026"), repeats=1)):
        name = shard.profile.name
        cells = {(name.removeprefix("endpoints-"), shard.stack.name, shard.tuning.name, one) for one in shard.workloads}
        if name in ("low", "medium", "high"):
            as_a_wire |= cells
        elif name != "baseline":
            at_the_hosts |= cells
    assert as_a_wire and as_a_wire <= at_the_hosts


def test_a_raspberry_pi_with_aes_is_as_fast_as_one_without() -> None:
    bare, with_aes = (one for one in plan("raspberry-pi-2021").values["machine"] if isinstance(one, Machine))
    assert bare.speed == with_aes.speed
    assert set(with_aes.without) < set(bare.without)
