"""The file of the study mesh-thesis-2026: its grid, and that the text's own numbers hold its claims."""

import operator
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from tests.helpers.documentation import DOCS
from tests.helpers.study_files import plan, published, study
from tunbench.plan.axes.profile import shipped
from tunbench.plan.estimate import duration
from tunbench.plan.expand import expand

NAME = "mesh-thesis-2026"
SINGLE, SIX = "iperf3-tcp", "together"
AT_ENDPOINTS = {"endpoints-low": "Low", "endpoints-medium": "Medium", "endpoints-high": "High"}
PROFILES = {"baseline": "Baseline", **AT_ENDPOINTS}
TUNINGS = {"default": "Default", "gvisor-full": "Full gVisor", "gvisor-reorder": "Reorder-only"}
SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def holds(value: float, expect: str) -> bool:
    if expect.startswith("equal within "):
        margin = 1 + float(expect.removeprefix("equal within ").removesuffix("%")) / 100
        return 1 / margin <= value <= margin
    if ".." in expect:
        low, high = map(float, expect.split(".."))
        return low <= value <= high
    sign, bound = expect.split()
    return SIGNS[sign](value, float(bound))


def number(cell: Mapping[str, str]) -> float | None:
    """What the text's tables have of a cell of a claim, in the published unit; None where they have nothing."""
    system = {stack: name for name, stack in study(NAME)["study"]["systems"].items()}.get(cell["stack"])
    profile, tuning = PROFILES.get(cell["profile"]), TUNINGS.get(cell.get("tuning", "default"))
    metric, workload = cell.get("metric") or "throughput", cell["workload"]
    if cell.get("statistic") or cell.get("verdict") or system is None or profile is None:
        return None
    if of_users := USED.get(workload.partition(":")[0]):
        return of_users(system, profile, tuning or "", metric)
    if metric == "resent" and system == "Internal" and tuning != "Default":
        return value("kernel tuning", system, f"Retransmit %, {profile}, {tuning}", "retransmit rate")
    if metric == "resent":
        return value("running text", system, profile, "retransmit rate")
    if tuning != "Default":
        what = "Parallel TCP" if SIX in workload else "Single TCP"
        if system != "Internal":
            return value("running text", system, f"{what}, {profile}, tuned", "throughput")
        return value("kernel tuning", system, f"{what}, {profile}, {tuning}", "throughput")
    if metric == "carried":
        return value("parallel TCP under impairment", system, profile, "throughput")
    if workload.startswith("iperf3-udp"):
        return value("UDP at baseline" if profile == "Baseline" else "running text", system, profile, metric) or value(
            "running text", system, f"UDP, {profile}", metric
        )
    if metric == "retransmits":
        return value("TCP at baseline", system, profile, metric)
    if metric == "rtt":
        return value("ping under impairment", system, profile, metric)
    return value("TCP under impairment", system, profile, metric) if metric == "throughput" else None


def of_nix(system: str, profile: str, tuning: str, metric: str) -> float | None:
    if tuning == "Default":
        return value("Nix cache under impairment", system, profile, "time")
    if system == "Internal":
        return value("kernel tuning", system, f"Nix cache, {profile}, {tuning}", "time")
    return value("running text", system, f"Nix cache, {profile}, tuned", "time")


def of_quic(system: str, profile: str, tuning: str, metric: str) -> float | None:
    names = {"first-byte": "time to first byte", "handshake": "connection establishment"}
    if metric == "throughput":
        return value("running text", system, f"QUIC, {profile}", metric)
    return value("running text", system, f"qperf, {profile}", names.get(metric, "cpu"))


USED: dict[str, Callable[[str, str, str, str], float | None]] = {
    "nix-cache": of_nix,
    "rist": lambda system, profile, tuning, metric: (
        value("RIST under impairment", system, profile, "video quality") if metric == "quality" else None
    ),
    "quic": of_quic,
    "recover": lambda system, profile, tuning, metric: value("running text", system, "reboot", "reconnection"),
    "pmtu": lambda system, profile, tuning, metric: None,
}
"""What the text has of a workload that its users run: by system, profile, tuning and metric."""

UNITS = {"quality": 0.01, "blocked": 1}
"""What a published number is multiplied by to have the unit of its metric, where a claim is about the value itself."""


def value(table: str, system: str, condition: str, metric: str) -> float | None:
    key = (table, system, condition, metric)
    found = [row.value for row in published(NAME) if row[:4] == key and row.statistic not in ("min", "max", "sd")]
    return float(found[0]) if found and found[0] else None


def test_the_published_numbers_themselves_are_what_the_claims_say() -> None:
    tried = 0
    for claim in study(NAME)["claim"]:
        for comparison in claim.get("compare", []):
            if comparison["left"]["workload"] == "up":
                continue
            if "right" not in comparison:
                found, metric = number(comparison["left"]), comparison["left"].get("metric", "throughput")
                if found is not None and metric in UNITS and "statistic" not in comparison["left"]:
                    assert holds(UNITS[metric] * found, comparison["expect"]), (claim["name"], comparison, found)
                    tried += 1
                continue
            left = number(comparison["left"])
            right = number({**comparison["left"], **comparison["right"]})
            if left is not None and right:
                assert holds(left / right, comparison["expect"]), (claim["name"], comparison, left / right)
                tried += 1
    assert tried == 346


def test_nothing_is_not_yet_there() -> None:
    said = [claim["not_testable"] for claim in study(NAME)["claim"] if "not_testable" in claim]
    assert len(said) == 5 and not any("not yet" in one.lower() for one in said)
    assert "not yet" not in (DOCS / "studies" / f"{NAME}.md").read_text().lower()


def test_the_quick_scale_takes_an_hour_at_most() -> None:
    shards = expand(plan(NAME, "quick"))
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
    stacks = {"none", "wireguard", "easytier", "headscale", "headscale:gso=off", "nebula"}
    profiles = {*AT_ENDPOINTS, "low", "medium", "high"}
    assert cells == {(stack, profile) for stack in stacks for profile in profiles}
    assert len(shards) == 5 * len(cells)
    assert {one.name for shard in shards for one in shard.workloads} == {"iperf3-tcp:duration=10"}


def test_the_impairments_of_the_hosts_are_the_shipped_ones() -> None:
    of_plan = {one.name: one.spec() for one in plan(NAME).values["profile"]}
    for name in AT_ENDPOINTS:
        as_a_wire = shipped()[name.removeprefix("endpoints-")].spec()
        assert of_plan[as_a_wire["name"]] == as_a_wire
        assert of_plan[name] == {**as_a_wire, "name": name, "placement": "endpoints"}
    assert of_plan["baseline"]["forward"] == {}
    assert set(of_plan) == {"baseline", *AT_ENDPOINTS, "low", "medium", "high"}
