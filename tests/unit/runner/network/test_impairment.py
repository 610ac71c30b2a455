"""Where a profile's netem is put, with the link's rate behind it, and what is done with what the kernel says of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell, captured, interface, move_home
from tunbench.runner import stack
from tunbench.runner.declare import topology
from tunbench.runner.declare.link import Direction, Link
from tunbench.runner.declare.topology import PAIR
from tunbench.runner.network import impairment, underlay
from tunbench.runner.network.drops import Place
from tunbench.runner.network.underlay import WIRE
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result

LOSS = captured("qdisc-loss.json")
FORWARD, REVERSE = {"loss": 0.1}, {"delay": 0.02, "loss": 0.1}
LINE = Link("line", Direction(5e6, queue_packets=50), Direction(50e6, queue_packets=500))
WIDE = Link("wide", Direction(50e6, queue_packets=50), Direction(500e6, queue_packets=500))
TBF = (
    "handle 2: tbf rate {}000000bit burst 3028 peakrate {}000000bit mtu 1514 limit 1000000000 mpu 84 overhead 24"
    " linklayer ethernet"
)


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def placed(
    kind: str, spelling: str, profile: dict[str, Any], link: Link = WIRE
) -> tuple[list[str], FakeEvents, list[Place]]:
    shell, events, under = FakeShell({"qdisc show": LOSS}), FakeEvents(), underlay.of(kind, PAIR, link)
    made = {name: Node(name, shell, events, ["nsenter", "--"]) for name in under.names}
    places = impairment.impair(profile, under, stack.build(spelling, under.endpoints).overlay, made, events)
    return events.commands, events, places


def batch(node: str, *lines: str) -> str:
    """What a person types to have a node do this."""
    return "\n".join([f"ip netns exec {node} tc -batch - <<'END'", *lines, "END"])


@pytest.mark.parametrize(
    ("placement", "kind", "spelling", "forward", "reverse"),
    [
        ("router", "ip", "wireguard", ("router", "to-b"), ("router", "to-a")),
        ("router", "ethernet", "macvlan", ("bridge", "to-b"), ("bridge", "to-a")),
        ("endpoints", "ip", "wireguard", ("a", "eth0"), ("b", "eth0")),
        ("overlay", "ip", "wireguard", ("a", interface("wireguard")), ("b", interface("wireguard"))),
        ("overlay", "ip", "wireguard+vxlan", ("a", interface("vxlan", 1)), ("b", interface("vxlan", 1))),
        ("overlay", "ip", "none", ("a", "eth0"), ("b", "eth0")),
    ],
)
def test_each_direction_has_its_place(
    placement: str, kind: str, spelling: str, forward: tuple[str, str], reverse: tuple[str, str]
) -> None:
    profile = {"placement": placement, "forward": FORWARD, "reverse": REVERSE}
    commands, events, places = placed(kind, spelling, profile)
    # On the endpoints netem is the queue of the interface, and has its length.
    reverse_limit = 1000 if placement == "endpoints" else 16667
    assert commands == [
        batch(node, f"qdisc replace dev {interface} root handle 1: netem limit {limit} {delay}loss random 10%")
        for (node, interface), limit, delay in ((forward, 1000, ""), (reverse, reverse_limit, "delay 20000us "))
    ]
    assert [(one["node"], one["interface"], one["asked"]) for one in events.of("impairment")] == [
        (*forward, FORWARD),
        (*reverse, REVERSE),
    ]
    qdisc = {**json.loads(LOSS)[0], "terms": {"loss": 0.1, "loss_correlation": 0, "ecn": 0, "gap": 0}}
    assert events.of("impairment")[0]["installed"] == qdisc
    assert [(one.node.name, one.interface, one.terms, one.direction) for one in places] == [
        (*forward, FORWARD, None),
        (*reverse, REVERSE, None),
    ]


@pytest.mark.parametrize(
    ("placement", "there", "back", "link", "before"),
    [
        ("router", ("router", "to-b"), ("router", "to-a"), WIDE, ""),
        ("router", ("router", "to-b"), ("router", "to-a"), LINE, "q-"),
        ("endpoints", ("a", "eth0"), ("b", "eth0"), LINE, ""),
        ("overlay", ("a", "eth0"), ("b", "eth0"), LINE, ""),
    ],
)
def test_the_rate_of_the_link_that_packets_enter_stands_behind_netem(
    placement: str, there: tuple[str, str], back: tuple[str, str], link: Link, before: str
) -> None:
    profile = {"placement": placement, "forward": FORWARD, "reverse": FORWARD}
    commands, _, places = placed("ip", "none", profile, link)
    way = link.down if placement == "router" else link.up
    rate, queue = round(way.rate / 1e6), way.queue_packets
    limit = queue if placement == "endpoints" else 1000
    assert commands == [
        batch(
            node,
            f"qdisc replace dev {before}{interface} root handle 1: netem limit {limit} loss random 10%",
            f"qdisc replace dev {before}{interface} parent 1:1 {TBF.format(rate, 2 * rate)}",
            f"qdisc add dev {before}{interface} parent 2:1 handle 3: pfifo limit {queue}",
        )
        for node, interface in (there, back)
    ]
    # The other interfaces where packets enter a link are watched, too.
    watched = {(one.node.name, one.interface): (one.terms, one.direction) for one in places}
    assert watched == {
        (node, interface): (FORWARD if (node, interface) in (there, back) else {}, direction)
        for node, interface, direction in (
            ("a", "eth0", link.up),
            ("b", "eth0", link.up),
            ("router", "to-a", link.down),
            ("router", "to-b", link.down),
        )
    }


@pytest.mark.parametrize(
    ("placement", "there"),
    [("endpoints", ("a", "eth0")), ("overlay", ("a", "vxlan.calico")), ("router", ("router", "to-b"))],
)
def test_in_a_cluster_the_way_there_begins_at_the_first_worker(placement: str, there: tuple[str, str]) -> None:
    shell, events = FakeShell({"qdisc show": LOSS}), FakeEvents()
    under = underlay.of("ip", topology.read("cluster"))
    nodes = {name: Node(name, shell, events, ["nsenter", "--"]) for name in under.names}
    overlay = stack.build("calico", under.endpoints, under.topology).overlay
    impairment.impair({"placement": placement, "forward": FORWARD, "reverse": {}}, under, overlay, nodes, events)
    # The control plane is no end of a pair, and what is sent to it passes the router there.
    more = [("router", "to-kube")] if placement == "router" else []
    assert sorted((one["node"], one["interface"]) for one in events.of("impairment")) == sorted([there, *more])


def test_the_rate_of_a_link_is_not_on_the_overlay() -> None:
    profile = {"placement": "overlay", "forward": FORWARD, "reverse": FORWARD}
    commands, _, places = placed("ip", "wireguard", profile, LINE)
    assert not any("tbf" in text for text in commands)
    assert [(one.name, one.direction) for one in places if one.terms] == [
        (f"{name}/{interface('wireguard')}", None) for name in ("a", "b")
    ]
    assert len(places) == 6


def test_one_direction_may_be_left_as_it_is() -> None:
    commands, events, _ = placed("ip", "none", {"placement": "router", "forward": {}, "reverse": FORWARD})
    assert commands == [batch("router", "qdisc replace dev to-a root handle 1: netem limit 1000 loss random 10%")]
    assert len(events.of("impairment")) == 1


@pytest.mark.parametrize("terms", [{}, {"delay": 0.0, "loss": 0.0}])
@pytest.mark.parametrize(("link", "watched"), [(WIRE, 0), (LINE, 4)])
def test_the_baseline_has_no_netem_at_all(terms: dict[str, float], link: Link, watched: int) -> None:
    profile = {"placement": "router", "forward": terms, "reverse": terms}
    commands, events, places = placed("ip", "none", profile, link)
    assert (commands, events.told) == ([], [])
    assert len(places) == watched and not any(one.terms for one in places)


def test_what_the_kernel_made_of_it_is_compared_with_what_was_asked() -> None:
    _, events, _ = placed("ip", "none", {"placement": "router", "forward": {"loss": 0.2}, "reverse": {}})
    assert [(one["name"], one["text"]) for one in events.of("warning")] == [
        ("netem-differs", "router/to-b: loss: asked for 0.2, installed is 0.1")
    ]


def test_what_was_installed_is_returned() -> None:
    shell = FakeShell({"-batch": Result(0, "", ""), "show": LOSS})
    found = impairment.apply(Node("a", shell, FakeEvents(), []), "eth0", FORWARD)
    assert found["options"]["loss-random"] == {"loss": 0.1, "correlation": 0}


@pytest.mark.parametrize("shown", ["", "[]", '[{"kind":"noqueue","root":true}]'])
def test_an_interface_without_netem_has_none_installed(shown: str) -> None:
    assert impairment.installed(Node("a", FakeShell({"show": shown}), FakeEvents(), []), "eth0") == {}
