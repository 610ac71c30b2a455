"""Which way packets went, second by second, and what is said of a path that gives way to another."""

import json

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell
from tunbench.runner import stack
from tunbench.runner.network import path_series, underlay
from tunbench.runner.network.path_series import Stretch, found, said, seconds, split
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result

WAYS = {"10.0.1.2": "direct", "10.0.2.2": "direct", "10.0.251.2": "relay"}


def listed(*elements: tuple[str, str, int]) -> str:
    """A set as nft 1.0.6 lists it: who sent, the time of day, and the bytes."""
    elem = [
        {"elem": {"val": {"concat": [who, "10.0.2.2", time]}, "counter": {"packets": 1, "bytes": size}}}
        for who, time, size in elements
    ]
    return json.dumps({"nftables": [{"metainfo": {}}, {"set": {"name": "seen", "elem": elem}}]})


def test_bytes_are_counted_by_path_and_second() -> None:
    text = listed(("10.0.1.2", "00:00:59", 900), ("10.0.251.2", "00:01", 800), ("10.0.252.2", "00:01", 700))
    assert seconds(text, 58, WAYS) == {1: {"direct": 900}, 2: {"relay": 800}}


def test_midnight_is_a_second_like_any_other() -> None:
    assert seconds(listed(("10.0.1.2", "00:00:01", 900)), 86399, WAYS) == {2: {"direct": 900}}


def test_an_empty_set_is_listed_without_elements() -> None:
    assert seconds('{"nftables": [{"metainfo": {}}, {"set": {"name": "seen"}}]}', 0, WAYS) == {}


DIRECT, RELAY, BOTH, CHATTER = {"direct": 9000}, {"relay": 9000}, {"direct": 5000, "relay": 5000}, {"relay": 600}


@pytest.mark.parametrize(
    ("series", "stretches"),
    [
        ([], []),
        ([DIRECT] * 3, [Stretch(0, 3, "direct")]),
        ([DIRECT, DIRECT, BOTH, RELAY], [Stretch(0, 2, "direct"), Stretch(3, 4, "relay")]),
        ([DIRECT, RELAY, DIRECT], [Stretch(0, 1, "direct"), Stretch(1, 2, "relay"), Stretch(2, 3, "direct")]),
        # A control plane that speaks while nothing else does is no path, and silence is of the path around it.
        ([DIRECT, CHATTER, {}, DIRECT], [Stretch(0, 4, "direct")]),
        ([BOTH] * 3, [Stretch(0, 3, "mixed")]),
        ([DIRECT, BOTH, BOTH], [Stretch(0, 1, "direct"), Stretch(1, 3, "mixed")]),
        ([DIRECT, BOTH, DIRECT], [Stretch(0, 3, "direct")]),
    ],
)
def test_a_stretch_has_one_path(series: list[dict[str, int]], stretches: list[Stretch]) -> None:
    assert found({at: sizes for at, sizes in enumerate(series) if sizes}) == stretches


def test_each_path_is_said_with_the_second_from_which_on_it_was_taken() -> None:
    assert said([Stretch(0, 3, "direct")]) == "direct"
    assert said([Stretch(0, 3, "direct"), Stretch(4, 9, "derp")]) == "direct, derp from 4 s"


def test_samples_are_split_by_the_path_that_was_taken_at_their_moment() -> None:
    stretches = [Stretch(0, 2.5, "direct"), Stretch(3.5, 6, "derp"), Stretch(6, 9, "direct")]
    rows: list[list[object]] = [
        *(["rtt", "s", value, at, "a-b", "a"] for at, value in [(0, 1), (1, 3), (2.4, 2), (3, 99), (4, 7), (5, 9)]),
        ["loss", "ratio", 0.5, None, "a-b", "a"],
        ["cwnd", "B", 5, 1.0, "a-b", "a"],
    ]
    assert split(stretches, rows) == {"rtt (s)": [2, 8, None]}


def commands(spelling: str, refuses: str = "no command") -> list[str]:
    events = FakeEvents()
    shell = FakeShell({refuses: Result(1, "", ""), "list set": listed(("10.0.251.2", "00:00", 900))})
    under = underlay.of("ip6" if "ipv6" in spelling else "ip", roles=stack.roles(spelling))
    built = stack.build(spelling, under.endpoints, under.topology, under.roles)
    with path_series.watched(
        under, {under.middle: Node("router", shell, events)}, built.layers[0].declared.paths
    ) as one:
        assert one == []
    return [*events.commands, *(told["text"] for told in events.of("file"))]


def test_the_router_counts_only_where_packets_have_a_choice() -> None:
    assert commands("wireguard") == commands("nebula") == []
    *_, delete, rules = commands("nebula:relay=on")
    assert delete.endswith("nft delete table inet paths")
    assert 'oifname { "to-a", "to-b" } add @seen { ip saddr . ip daddr . meta hour }' in rules
    assert "add @seen { ip6 saddr . ip6 daddr . meta hour }" in commands("nebula:relay=on,outer=ipv6")[-1]


def test_where_the_kernel_has_no_such_sets_nothing_is_counted() -> None:
    assert not any("list set" in one or "delete" in one for one in commands("nebula:relay=on", "nft -f"))
