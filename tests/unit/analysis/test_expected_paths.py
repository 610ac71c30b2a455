"""Which path is expected between two kinds of access, and that each expectation of the plan names its source."""

from importlib.resources import files

import pytest

from tunbench.analysis.expected_paths import PAIRINGS, expected
from tunbench.plan.expand import expand
from tunbench.plan.load import load


def test_every_cell_of_the_plan_has_an_expectation_with_its_source() -> None:
    plan = load(str(files("tunbench.plan") / "plans" / "nat-matrix.toml")).plan
    cells = {(shard.spec()["stack"], shard.spec()["access"]["name"]) for shard in expand(plan)}
    wanted = {cell: expected(*cell) for cell in cells}
    assert all(one and one.path and one.source.count(";") for one in wanted.values())
    accesses = {access for _, access in cells}
    assert set(PAIRINGS) - accesses == {"lte-nat64", "lte-nat64,a=cloud", "lte-nat64,a=home-fibre"}
    assert len(cells) == len(accesses) * 6 - 10, "nebula and easytier by UDP have nothing that they could reach without"
    assert "failed" not in {one.path for one in wanted.values() if one}, "each has a relay to fall back on"


@pytest.mark.parametrize(
    ("stack", "access", "path"),
    [
        ("headscale", "home-fibre", "direct"),
        ("headscale", "lte", "derp"),
        ("headscale", "office", "derp"),
        ("netbird", "lte,a=home-fibre", "relay-quic"),
        ("netbird", "office,a=cloud", "relay-ws"),
        ("nebula:release=1.10,relay=on,respond=on", "lte", "relay"),
        ("nebula", "lte", "failed"),
        ("nebula", "cloud", "direct"),
        ("tinc", "home-fibre,a=cloud", "direct"),
        ("tinc", "home-fibre", "failed"),
        ("tinc:relay=on", "home-fibre", "direct"),
        ("tinc:relay=on", "lte", "relay"),
        ("tinc:relay=on", "office,a=cloud", "relay-tcp"),
        ("easytier", "cloud", "direct"),
        ("easytier", "lte", "failed"),
        ("easytier:relay=on", "home-fibre", "relay"),
        ("easytier:relay=on", "office", "failed"),
        ("easytier:transport=tcp", "office,a=cloud", "direct"),
        ("easytier:transport=tcp", "office", "failed"),
        ("easytier:relay=on,transport=tcp", "office,a=cloud", "direct"),
        ("easytier:relay=on,transport=tcp", "office,a=home-fibre", "relay"),
        ("headscale", "lte-nat64", "direct"),
        ("yggdrasil:relay=on", "office,a=cloud", "direct"),
        ("yggdrasil:relay=on", "home-fibre", "relay"),
        ("yggdrasil", "home-fibre", "failed"),
    ],
)
def test_a_hole_is_punched_or_a_relay_taken(stack: str, access: str, path: str) -> None:
    found = expected(stack, access)
    assert found and found.path == path


def test_nobody_says_what_others_find() -> None:
    assert expected("wireguard", "lte") is None
    assert expected("headscale", "a-line-of-ones-own") is None
    assert expected("a-vpn-of-ones-own", "a-line-of-ones-own") is None


@pytest.mark.parametrize("stack", ["a-vpn-of-ones-own", "headscale:shape=round", "Not a stack", "nebula:path=relay"])
def test_nobody_says_what_a_stranger_or_a_demand_finds(stack: str) -> None:
    assert expected(stack, "home-fibre") is None


def test_without_a_node_that_tells_of_both_nobody_says_that_holes_are_punched() -> None:
    assert expected("nebula", "home-fibre") is None
