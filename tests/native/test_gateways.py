"""Gateways on this kernel, as whoever is behind them sees them: what a STUN client finds out, and what they drop."""

import os

import pytest

from tests.helpers.gateway_lab import SERVERS, asked
from tunbench.runner.declare.access import NATS, PORTMAPS
from tunbench.runner.declare.topology import CONTROL
from tunbench.runner.network.underlay import ROLES

pytestmark = [
    pytest.mark.native,
    pytest.mark.waiting,
    pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root"),
]

LINK = {"delay": "0s"}
"""What every kernel can make."""

OVER_IPV6 = f"fd00:0:0:{ROLES[CONTROL]:x}::2"
"""The address of a node with no gateway before it."""


@pytest.mark.parametrize("kind", NATS)
def test_a_stun_client_sees_the_kind_of_nat_that_was_asked_for(kind: str) -> None:
    firewall = {"firewall": "open"} if kind == "one-to-one" else {}
    answer, _ = asked({"name": "x", "nat": kind, "link": LINK, **firewall}, "behaviour")
    assert answer == {name: getattr(NATS[kind], name) for name in ("mapping", "filtering", "hairpin")}


def test_behind_two_nats_a_client_sees_the_harder_one() -> None:
    access = {"name": "x", "nat": "full-cone", "carrier": "symmetric", "link": LINK}
    answer, dropped = asked(access, "behaviour")
    assert answer["mapping"] == answer["filtering"] == NATS["symmetric"].mapping
    assert dropped["carrier-a"]["unasked"] > 0
    assert dropped["gateway-a"]["unasked"] == 0


def test_behind_a_stateful_firewall_an_address_of_ones_own_is_no_open_door() -> None:
    answer, dropped = asked({"name": "x", "nat": "one-to-one", "firewall": "stateful", "link": LINK}, "behaviour")
    assert answer["mapping"] == NATS["one-to-one"].mapping
    assert answer["filtering"] == NATS["port-restricted"].filtering
    assert dropped["gateway-a"]["unasked"] > 0


def test_an_early_packet_of_the_peer_does_not_take_the_port() -> None:
    answer, dropped = asked({"name": "x", "nat": "port-restricted", "link": LINK}, "punched")
    assert answer == {"a": [["10.0.2.2", 6000]], "b": [["10.0.1.2", 6000]]}
    assert dropped["gateway-a"]["unasked"] == 1


@pytest.mark.parametrize(("waited", "heard"), [(1, True), (4, False)])
@pytest.mark.parametrize("nat", ["full-cone", "address-restricted", "port-restricted"])
def test_a_mapping_lives_as_long_as_it_is_told_to(nat: str, waited: int, heard: bool) -> None:
    answer, _ = asked({"name": "x", "nat": nat, "mapping": "2s", "link": LINK}, "after_silence", str(waited))
    assert answer is heard


@pytest.mark.parametrize(("waited", "heard"), [(1, True), (4, False)])
def test_a_mapping_of_tcp_has_a_life_of_its_own(waited: int, heard: bool) -> None:
    access = {"name": "x", "nat": "full-cone", "mapping": {"udp": "60s", "tcp": "2s"}, "link": LINK}
    answer, _ = asked(access, "after_silence_of_tcp", str(waited))
    assert answer is heard


def test_what_is_tried_is_counted_with_what_came_of_it() -> None:
    access = {"name": "x", "nat": "port-restricted", "firewall": "no-udp", "link": LINK}
    answer, dropped = asked(access, "what_is_tried")
    found = {tuple(row[1:4]): row[4:] for row in answer["rows"]}
    assert {what: row[1] for what, row in found.items()} == {
        ("out", "udp", 53): 1,
        ("out", "tcp", 443): 0,
        ("out", "tcp", 80): 0,
        ("out", "icmp", 0): 0,
        ("in", "udp", 7000): 1,
    }
    assert (found["out", "udp", 53][0], found["out", "icmp", 0][0]) == (1, 2)
    # Its counters and those of its rules agree, and nothing of the former is left.
    assert (dropped["gateway-a"]["no-udp"], dropped["gateway-a"]["unasked"]) == (1, 1)
    assert "tried" not in answer["after"]


def test_where_nothing_is_kept_in_mind_what_goes_out_is_counted() -> None:
    answer, _ = asked({"name": "x", "link": LINK}, "what_is_tried")
    assert {(row[1], row[5]) for row in answer["rows"]} == {("out", 0)}
    assert ["gateway-a", "out", "udp", 53, 1, 0] in answer["rows"]


OUT = {"from a to gateway-a": 3, "from gateway-a to router": 3}
IN = {"from router to gateway-a": 2}


@pytest.mark.parametrize(
    ("access", "links"),
    [
        # Each fragment of 1500 bytes is cut once more, and nothing is put together before the end.
        ({}, {**OUT, **IN, "from gateway-a to router": 5, "from gateway-a to a": 2}),
        # What keeps connections in mind puts fragments together, and cuts for the narrower link.
        ({"nat": "port-restricted"}, {**OUT, **IN}),
        ({"fragments": "dropped"}, {**IN, "from a to gateway-a": 3}),
    ],
)
def test_fragments_are_counted_on_the_links_that_they_enter(access: dict[str, str], links: dict[str, int]) -> None:
    answer, _ = asked({"name": "x", "link": {**LINK, "mtu": 1400}, **access}, "where_cut")
    told, warned = answer["told"]
    assert {one["link"]: one["fragments"] for one in told["passed"]} == links
    assert all(f"{count} fragments {link}" in warned["text"] for link, count in links.items())
    assert "inet fragments" not in answer["after"]


FIREWALLS = {
    "no-udp": {"udp:443": False, "udp:53": False, "tcp:443": True, "tcp:80": True, "icmp": True},
    "tcp-443": {"udp:443": False, "udp:53": False, "tcp:443": True, "tcp:80": False, "icmp": False},
    "only-relay": dict.fromkeys(("udp:443", "udp:53", "tcp:443", "tcp:80", "icmp"), False),
    "stateful": dict.fromkeys(("udp:443", "udp:53", "tcp:443", "tcp:80", "icmp"), True),
}


@pytest.mark.parametrize("kind", FIREWALLS)
def test_a_firewall_lets_out_what_it_says(kind: str) -> None:
    answer, _ = asked({"name": "x", "nat": "port-restricted", "firewall": kind, "link": LINK}, "let_out")
    assert answer == FIREWALLS[kind]


@pytest.mark.parametrize(
    ("firewall", "out"),
    [
        (
            {"allow": ["udp:53", "tcp"]},
            {"udp:443": False, "udp:53": True, "tcp:443": True, "tcp:80": True, "icmp": False},
        ),
        (
            {"deny": ["udp:53", "tcp"]},
            {"udp:443": True, "udp:53": False, "tcp:443": False, "tcp:80": False, "icmp": True},
        ),
        ({"deny": ["icmp"]}, {"udp:443": True, "udp:53": True, "tcp:443": True, "tcp:80": True, "icmp": False}),
    ],
)
def test_a_firewall_of_lists_lets_out_what_it_lists(firewall: dict[str, list[str]], out: dict[str, bool]) -> None:
    answer, dropped = asked({"name": "x", "nat": "port-restricted", "firewall": firewall, "link": LINK}, "let_out")
    assert answer == out
    assert dropped["gateway-a"]["lists"] > 0


def test_what_is_too_large_is_refused_aloud_or_in_silence() -> None:
    narrow = {"name": "x", "nat": "port-restricted", "link": {**LINK, "mtu": 1400}}
    answer, dropped = asked(narrow, "too_large")
    assert answer == {"out": "refused", "in": "refused"}
    answer, dropped = asked({**narrow, "icmp": "filtered"}, "too_large")
    assert answer == {"out": "lost", "in": "lost"}
    assert dropped["gateway-a"]["icmp-filtered"] > 0
    assert dropped["router"]["icmp-filtered"] > 0


@pytest.mark.parametrize("carrier", ["port-restricted", "one-to-one"])
def test_before_a_carrier_both_ends_of_the_link_are_silent_too(carrier: str) -> None:
    narrow = {"name": "x", "nat": "port-restricted", "carrier": carrier, "link": {**LINK, "mtu": 1400}}
    answer, _ = asked(narrow, "too_large")
    assert answer == {"out": "refused", "in": "refused"}
    answer, dropped = asked({**narrow, "icmp": "filtered"}, "too_large")
    assert answer == {"out": "lost", "in": "lost"}
    assert dropped["gateway-a"]["icmp-filtered"] > 0
    assert dropped["carrier-a"]["icmp-filtered"] > 0
    assert dropped["router"] == {}


@pytest.mark.parametrize(("icmp", "fate"), [("passed", "refused"), ("filtered", "lost")])
def test_over_ipv6_what_is_too_large_is_refused_aloud_or_in_silence(icmp: str, fate: str) -> None:
    narrow = {"name": "x", "icmp": icmp, "link": {**LINK, "mtu": 1400}}
    answer, _ = asked(narrow, "too_large", OVER_IPV6, kind="ip6")
    assert answer == {"out": fate, "in": fate}


@pytest.mark.parametrize(("fragments", "passed"), [("passed", True), ("dropped", False)])
def test_over_ipv6_fragments_pass_or_do_not(fragments: str, passed: bool) -> None:
    access = {"name": "x", "firewall": "open", "fragments": fragments, "link": LINK}
    answer, _ = asked(access, "in_fragments", OVER_IPV6, "fd00:0:0:1::2", kind="ip6")
    assert answer == {"out": passed, "in": passed}


@pytest.mark.parametrize(
    ("protocol", "nat"), [*((one, "port-restricted") for one in PORTMAPS), ("pcp", "symmetric"), ("pcp", "full-cone")]
)
def test_a_port_is_opened_by_the_protocol_that_was_asked_for_and_by_no_other(protocol: str, nat: str) -> None:
    answer, dropped = asked({"name": "x", "nat": nat, "portmap": protocol, "link": LINK}, "open_port", *PORTMAPS)
    number = 7000 + list(PORTMAPS).index(protocol)
    assert answer == {
        **{other: [None, False] for other in PORTMAPS},
        protocol: [["12.0.1.2", number], True],
        "opened": [["udp", number, f"10.2.1.2:{number}"]],
    }
    assert dropped["gateway-a"]["unasked"] == 2


@pytest.mark.parametrize("kind", NATS)
def test_a_stun_client_sees_through_two_translators_what_it_sees_of_a_nat_alone(kind: str) -> None:
    firewall = {"firewall": "open"} if kind == "one-to-one" else {}
    access = {"name": "x", "nat": kind, "family": "nat64", "link": LINK, **firewall}
    answer, _ = asked(access, "behaviour")
    assert answer == {name: getattr(NATS[kind], name) for name in ("mapping", "filtering", "hairpin")}


def test_what_leaves_an_endpoint_of_ipv6_alone_is_translated_twice() -> None:
    access = {"default": "none", "a": {"name": "x", "family": "nat64", "link": LINK}}
    answer, _ = asked(access, "seen_on_the_way", "12.0.252.2")
    assert answer == {
        # A datagram of 1000 bytes: 20 more in the header, and the address stands in the prefix of RFC 6052.
        "a": ["fd02:0:0:1::464", "64:ff9b::c00:fc02", 1048],
        "carrier-a": ["12.0.1.2", "12.0.252.2", 1028],
        CONTROL: ["12.0.1.2", "12.0.252.2", 1028],
    }


def test_what_fits_a_link_of_ipv6_passes_whole_and_what_does_not_is_refused_aloud() -> None:
    access = {"name": "x", "family": "nat64", "nat": "one-to-one", "firewall": "open", "link": LINK}
    for size, fate in (("1452", "passed"), ("1453", "refused")):
        answer, _ = asked(access, "of_size", size)
        assert answer == {"out": fate, "in": fate}
    answer, _ = asked(access, "in_fragments", SERVERS[0], "12.0.1.2")
    assert answer == {"out": True, "in": True}


@pytest.mark.parametrize("kind", NATS)
def test_a_nat_keeps_the_ports_of_tcp(kind: str) -> None:
    answer, _ = asked({"name": "x", "nat": kind, "link": LINK}, "ports_of_tcp")
    assert answer == [6000, 6001]


@pytest.mark.parametrize(("fragments", "passed"), [("passed", True), ("dropped", False)])
def test_fragments_pass_or_do_not(fragments: str, passed: bool) -> None:
    access = {"name": "x", "nat": "one-to-one", "firewall": "open", "fragments": fragments, "link": LINK}
    answer, dropped = asked(access, "in_fragments")
    assert answer == {"out": passed, "in": passed}
    assert passed or dropped["gateway-a"]["fragments"] > 0


@pytest.mark.parametrize(("mss", "seen"), [("kept", 1460), ("path", 1360), (1200, 1200)])
def test_an_mss_is_clamped_both_ways(mss: str | int, seen: int) -> None:
    access = {"name": "x", "nat": "one-to-one", "firewall": "open", "mss": mss, "link": {**LINK, "mtu": 1400}}
    answer, _ = asked(access, "segment_sizes")
    assert answer == {"out": seen, "in": seen}


@pytest.mark.parametrize(("dscp", "seen"), [("kept", 0xB9), ("cleared", 0x01)])
def test_a_mark_passes_or_is_cleared_and_ecn_stays(dscp: str, seen: int) -> None:
    access = {"name": "x", "nat": "one-to-one", "firewall": "open", "dscp": dscp, "link": LINK}
    answer, _ = asked(access, "marks")
    assert answer == seen


@pytest.mark.parametrize(
    ("access", "back"),
    [
        ({"name": "x", "firewall": "open", "link": LINK}, [True, True, True, True]),
        ({"name": "x", "link": LINK}, [True, False, False, False]),
        # A NAT is none over IPv6, and the firewall stays.
        ({"name": "x", "nat": "full-cone", "link": LINK}, [True, False, False, False]),
        ({"default": {"name": "x", "link": LINK}, "b": "none"}, [True, True, False, False]),
    ],
)
def test_over_ipv6_a_gateway_is_a_firewall(access: dict[str, object], back: list[bool]) -> None:
    answer, dropped = asked(access, "echoes", kind="ip6")
    assert answer == back
    assert all(back) or dropped["gateway-a"]["unasked"] > 0


@pytest.mark.parametrize(
    ("kind", "addresses"), [("ip", ("192.0.2.10", "8.8.8.8")), ("ip6", ("2001:db8::10", "2600::"))]
)
def test_what_is_sent_out_of_the_lab_is_answered(kind: str, addresses: tuple[str, ...]) -> None:
    answer, _ = asked({"name": "x", "firewall": "stateful", "link": LINK}, "outside", *addresses, kind=kind)
    assert answer == [True, True]
