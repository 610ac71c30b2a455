"""Where fragments are counted: on which links and below which layers, and where there is no need to."""

from pathlib import Path

import pytest

from tests.helpers.fakes import Answer, FakeEvents, FakeShell, captured, move_home
from tunbench.runner import stack
from tunbench.runner.declare.access import Access, Accesses
from tunbench.runner.declare.link import Link
from tunbench.runner.declare.topology import CONTROL, read
from tunbench.runner.network import fragment_counters, underlay
from tunbench.runner.network.fragment_counters import Place, Watch
from tunbench.runner.network.underlay import Interface, Underlay
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result

NARROW = Access("narrow", Link("narrow", mtu=1400))


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def laid_out(access: Access | None = None, topology: str = "pair") -> Underlay:
    return underlay.of("ip", read(topology), roles=[CONTROL], accesses=Accesses("any", access))


def placed(spelling: str, under: Underlay) -> dict[Interface, str]:
    built = stack.build(spelling, under.endpoints, under.topology)
    return {one.at: one.said for one in fragment_counters.places(under, built)}


def nodes_of(under: Underlay, shell: FakeShell) -> dict[str, Node]:
    return {name: Node(name, shell, FakeEvents()) for name in under.names}


def test_each_link_is_looked_at_from_both_ends_and_that_to_the_edge_is_not() -> None:
    assert placed("none", laid_out(NARROW)) == {
        Interface("gateway-a", "lan"): "from a to gateway-a",
        Interface("a", "eth0"): "from gateway-a to a",
        Interface("router", "to-a"): "from gateway-a to router",
        Interface("gateway-a", "wan"): "from router to gateway-a",
        Interface("gateway-b", "lan"): "from b to gateway-b",
        Interface("b", "eth0"): "from gateway-b to b",
        Interface("router", "to-b"): "from gateway-b to router",
        Interface("gateway-b", "wan"): "from router to gateway-b",
        Interface("router", "to-control"): "from control to router",
        Interface("control", "eth0"): "from router to control",
    }


def test_below_each_layer_stands_an_interface_of_its_own() -> None:
    found = placed("ipsec:mode=xfrm+wireguard:mtu=1420", laid_out())
    assert found[Interface("router", "to-a")] == "from a to router, below ipsec"
    assert found[Interface("b", "ipsec-0")] == "below wireguard on b"
    # What an upper layer without one sends is seen where the lower one is.
    assert set(placed("ipsec:mode=tunnel", laid_out())) == set(placed("none", laid_out()))


def test_the_links_to_hosts_are_looked_at() -> None:
    found = placed("wireguard", laid_out(topology="site-to-site"))
    assert found[Interface("a", "lan")] == "from host-a to a"
    assert found[Interface("host-a", "eth0")] == "from a to host-a"


@pytest.mark.parametrize(
    ("spelling", "access", "expected"),
    [
        ("wireguard", None, False),
        ("none", None, False),
        ("wireguard", NARROW, True),
        ("wireguard", Access("wide", Link("wide", mtu=1500), nat="port-restricted"), False),
        # Packets grow by 20 bytes, of which those who send from elsewhere know nothing.
        ("wireguard", Access("mobile", Link("wide", mtu=1500), nat="address-restricted", family="nat64"), True),
        ("wireguard:mtu=1500", None, True),
        ("ipsec:mode=xfrm+wireguard:mtu=1420", None, True),
        # It makes smaller ones by itself.
        ("yggdrasil", None, False),
    ],
)
def test_rules_are_there_where_something_may_be_cut(spelling: str, access: Access | None, expected: bool) -> None:
    under = laid_out(access)
    assert fragment_counters.may_be(under, stack.build(spelling, under.endpoints)) is expected
    shell = FakeShell()
    with fragment_counters.watched(under, nodes_of(under, shell), stack.build(spelling, under.endpoints)):
        assert any("nft -f" in text for text in shell.texts) is expected


def test_a_node_without_nftables_is_left_out() -> None:
    shell, under = FakeShell({"command -v": Result(127, "", "")}), laid_out(NARROW)
    with fragment_counters.watched(under, nodes_of(under, shell), stack.build("none", under.endpoints)) as watch:
        watch.tell("ping", events := FakeEvents())
    assert events.told == []
    assert not any(text.startswith("nft") for text in shell.texts)


def test_what_is_captured_is_counted_by_interface() -> None:
    assert fragment_counters.parse(captured("fragments.json")) == {"lan": 2, "wan": 5}
    assert fragment_counters.parse("") == {}


def watch(answers: dict[str, Answer]) -> tuple[Watch, FakeShell, FakeEvents]:
    shell, events = FakeShell({"list table": captured("fragments.json"), **answers}), FakeEvents()
    here = Place(Interface("gateway-a", "wan"), "from gateway-a to router")
    there = Place(Interface("gateway-a", "lan"), layer="wireguard")
    return Watch([here, there], {"gateway-a": Node("gateway-a", shell, events)}), shell, events


def test_counting_begins_anew_at_each_look() -> None:
    seen, shell, _ = watch({})
    seen.tell("ping", events := FakeEvents())
    assert [one["text"] for one in events.of("warning")] == [
        "ping: 5 fragments from gateway-a to router; 2 fragments below wireguard on gateway-a"
    ]
    assert [text.split()[:2] for text in shell.texts if text.startswith("nft")] == [
        ["nft", "-f"],
        ["nft", "-j"],
        ["nft", "-f"],
    ]
    assert "delete table inet fragments" in fragment_counters.rules(["wan"])


def test_where_a_layer_is_away_links_are_looked_at_alone() -> None:
    failures = iter([Result(1, "", "Could not process rule: No such file or directory")])
    _, _, events = watch({"nft -f": lambda call: next(failures, Result(0, "", ""))})
    both, links = [one["text"] for one in events.of("file")]
    assert ("at-lan" in both, "at-wan" in both) == (True, True)
    assert ("at-lan" in links, "at-wan" in links) == (False, True)


def test_a_warning_names_the_places_with_most() -> None:
    many = [(Place(Interface("a", f"x{number}"), f"from a to {number}"), number) for number in range(1, 9)]
    text = fragment_counters.said(many)
    assert text.startswith("8 fragments from a to 8; 7 fragments from a to 7; ")
    assert text.endswith("; and at 2 more places")
