"""Where one sees the packets below each layer."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell
from tunbench.runner import stack
from tunbench.runner.declare.topology import PAIR
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.node import Node
from tunbench.runner.proof.claims import Way, other_traffic, view, views
from tunbench.runner.site import Site
from tunbench.runner.stack import Stack


def some_nodes() -> dict[str, Node]:
    return {name: Node(name, FakeShell(), FakeEvents()) for name in ("a", "b", "router", "bridge", "edge")}


def site_of(built_stack: Stack, kind: str = "ip") -> Site:
    return Site(some_nodes(), PAIR_UNDERLAYS[kind], built_stack)


def places(spelling: str, kind: str) -> list[str]:
    """All places of a stack, as node/interface."""
    found = []
    for opening in views(site_of(stack.build(spelling, PAIR_UNDERLAYS[kind].endpoints), kind), PAIR.pairs[0]):
        with opening() as (node, interface):
            found.append(f"{node.name}/{interface}")
    return found


@pytest.mark.parametrize(
    ("spelling", "kind", "expected"),
    [
        ("none", "ip", ["router/to-b"]),
        ("none:underlay=ip6", "ip6", ["router/to-b"]),
        ("macvlan", "ethernet", ["bridge/to-b"]),
        ("wireguard+vxlan", "ip", ["router/to-b", "a/wireguard-0"]),
        ("vxlan+ipip+gre", "ip", ["router/to-b", "a/vxlan-0", "a/ipip-1"]),
    ],
)
def test_the_lowest_is_seen_between_the_nodes_and_the_others_below_them(
    spelling: str, kind: str, expected: list[str]
) -> None:
    assert places(spelling, kind) == expected


@pytest.mark.parametrize(
    ("spelling", "kind", "evidence", "expected"),
    [
        (
            *("ipsec", "ip", "ip proto 50"),
            "((udp port 500 or (udp port 4500 and udp[8:4] = 0))) and not (ip proto 50)",
        ),
        ("ipsec:outer=ipv6", "ip6", "ip6 proto 50", "udp port 4500 and ip6[48:4] = 0"),
        ("wireguard", "ip", "udp port 51820", ""),
    ],
)
def test_a_key_exchange_of_another_program_is_no_packet_around_a_layer(
    spelling: str, kind: str, evidence: str, expected: str
) -> None:
    [layer] = stack.build(spelling, PAIR_UNDERLAYS[kind].endpoints).layers
    way = Way(layer.evidence(layer.options, layer.context.outer, 0), "")
    found = other_traffic(layer, way)
    assert expected in found and bool(expected) == bool(found)
    assert evidence in way.evidence


def watched_stack(monkeypatch: pytest.MonkeyPatch) -> tuple[Stack, list[str]]:
    """Two layers, of which the lower one opens another interface for those who look."""
    built_stack = stack.build("ipip+gre", PAIR_UNDERLAYS["ip"].endpoints)
    told: list[str] = []

    @contextmanager
    def watched(node: Node) -> Iterator[str]:
        told.append(f"opened on {node.name}")
        try:
            yield "seen-0"
        finally:
            told.append("closed")

    monkeypatch.setattr(built_stack.layers[0], "watched", watched)
    return built_stack, told


def test_a_layer_says_where_it_is_watched_and_is_told_when_that_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    built_stack, told = watched_stack(monkeypatch)
    with pytest.raises(KeyboardInterrupt), view(site_of(built_stack), 1, PAIR.pairs[0]) as (node, interface):
        assert (node.name, interface, told) == ("a", "seen-0", ["opened on a"])
        raise KeyboardInterrupt
    assert told == ["opened on a", "closed"]


def test_nothing_is_opened_before_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    built_stack, told = watched_stack(monkeypatch)
    lowest, upper = views(site_of(built_stack), PAIR.pairs[0])
    with lowest():
        assert told == []
    for _ in range(2):
        with upper() as (_, interface):
            assert interface == "seen-0"
    assert told == ["opened on a", "closed"] * 2
