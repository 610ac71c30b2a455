"""The file of the study mesh-thesis-2026: its grid, and that nothing of it waits to be written."""

from dataclasses import replace

import pytest

from tests.helpers.documentation import DOCS
from tests.helpers.study_files import plan, published, study
from tunbench.plan.axes.profile import shipped
from tunbench.plan.estimate import duration
from tunbench.plan.expand import expand

NAME = "mesh-thesis-2026"
AT_ENDPOINTS = ("endpoints-low", "endpoints-medium", "endpoints-high")


def test_nothing_is_not_yet_there() -> None:
    said = [claim["not_testable"] for claim in study(NAME)["claim"] if "not_testable" in claim]
    assert len(said) == 8 and not any("not yet" in one.lower() for one in said)
    assert "not yet" not in (DOCS / "studies" / f"{NAME}.md").read_text().lower()


QUIC, RIST = "quic:size=10MB,connections=3", "rist:rate=3.3M,duration=5"
SHORT_QUIC = "quic:size=1MB,connections=3"
ONE_SECOND, LONG_STREAM, PING = "iperf3-tcp:duration=1", "iperf3-tcp:duration=30", "ping:count=300,interval=0.1"

EXPLANATIONS = {
    ("yggdrasil:mtu=1400", "baseline"): {ONE_SECOND, QUIC, RIST},
    ("yggdrasil:mtu=1400", "endpoints-low"): {LONG_STREAM, QUIC, RIST},
    ("yggdrasil:mtu=1400", "endpoints-medium"): {SHORT_QUIC, RIST},
    ("yggdrasil:mtu=1400", "endpoints-high"): {SHORT_QUIC, RIST},
    ("nebula:mtu=1300", "baseline"): {QUIC, RIST, "pmtu"},
    ("headscale:path=derp", "baseline"): {RIST},
    **{("headscale:gso=off", profile): {LONG_STREAM} for profile in (*AT_ENDPOINTS, "low", "medium", "high")},
    ("easytier", "baseline"): {PING, ONE_SECOND},
    **{("easytier", profile): {PING, LONG_STREAM} for profile in AT_ENDPOINTS},
    **{("easytier", profile): {LONG_STREAM} for profile in ("low", "medium", "high")},
}
"""What the stacks run that test the text's explanations, under each profile; in the full scale alone."""


def test_explanations_are_tried_where_they_apply_and_nowhere_else() -> None:
    published_ones = set(study(NAME)["study"]["systems"].values())
    shards = [shard for shard in expand(replace(plan(NAME), repeats=1)) if shard.stack.name not in published_ones]
    found = {(one.stack.name, one.profile.name): {workload.name for workload in one.workloads} for one in shards}
    assert found == EXPLANATIONS and len(shards) == len(found)
    of_quick = {shard.stack.name for shard in expand(plan(NAME, "quick"))}
    assert not any(":" in name for name in of_quick)


def test_the_quick_scale_takes_an_hour_at_most() -> None:
    shards = expand(plan(NAME, "quick"))
    assert len(shards) == 72
    assert duration.estimate(shards, 2) <= 3600
    assert {shard.repeat for shard in shards} == set(range(1, 7))


@pytest.mark.parametrize(
    ("scale", "profiles"),
    [
        ("", ["baseline", *AT_ENDPOINTS]),
        ("prediction", ["baseline"]),
    ],
)
def test_every_published_system_is_measured_at_every_scale(scale: str, profiles: list[str]) -> None:
    systems = study(NAME)["study"]["systems"]
    assert set(systems) == {row.system for row in published(NAME) if row.table == "TCP under impairment"}
    shards = expand(replace(plan(NAME, scale), repeats=1))
    for profile in profiles:
        assert set(systems.values()) <= {shard.stack.name for shard in shards if shard.profile.name == profile}
    assert all(shard.layout.name == "ring" for shard in shards)


def test_the_anomaly_is_asked_at_every_impairment_of_both_beds() -> None:
    shards = expand(plan(NAME, "anomaly"))
    cells = {(shard.stack.name, shard.profile.name) for shard in shards}
    stacks = {"none", "wireguard", "easytier:transport=tcp", "easytier", "headscale", "headscale:gso=off", "nebula"}
    profiles = {*AT_ENDPOINTS, "low", "medium", "high"}
    assert cells == {(stack, profile) for stack in stacks for profile in profiles}
    assert len(shards) == 10 * len(cells)
    assert {one.name for shard in shards for one in shard.workloads} == {"iperf3-tcp:duration=30"}


def test_the_impairments_of_the_hosts_are_the_shipped_ones() -> None:
    of_plan = {one.name: one.spec() for one in plan(NAME).values["profile"]}
    for name in AT_ENDPOINTS:
        as_a_wire = shipped()[name.removeprefix("endpoints-")].spec()
        assert of_plan[as_a_wire["name"]] == as_a_wire
        assert of_plan[name] == {**as_a_wire, "name": name, "placement": "endpoints"}
    assert of_plan["baseline"]["forward"] == {}
    assert set(of_plan) == {"baseline", *AT_ENDPOINTS, "low", "medium", "high"}
