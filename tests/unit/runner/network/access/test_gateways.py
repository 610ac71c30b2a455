"""Gateways as data and as commands: where they stand, what they have, which rules they are given, and what is told."""

import json
from typing import Any

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell
from tunbench.plan.axes.access import read_accesses
from tunbench.runner.declare.access import KEPT, NATS, PASSED, Access, Accesses
from tunbench.runner.declare.failures import Unsupported
from tunbench.runner.declare.link import Direction, Link
from tunbench.runner.declare.topology import CONTROL, PAIR, read
from tunbench.runner.network import links, underlay, wires
from tunbench.runner.network.access import gateway_rules, gateways
from tunbench.runner.network.access.gateway import Gateway
from tunbench.runner.network.underlay import Interface, Underlay
from tunbench.runner.network.wires import Crossing
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result

LINE = Link("line", Direction(10e6, delay=1e-3), Direction(50e6, delay=2e-3), mtu=1400)
ROUTED = Access("x", LINE, delay=0.01, jitter=0.004)
HOME = Access("home", LINE, delay=0.01, jitter=0.004, nat="port-restricted")
TWICE = Access("twice", LINE, nat="port-restricted", carrier="symmetric")


def laid_out(access: Access | None, kind: str = "ip", **own: Access) -> Underlay:
    return underlay.of(kind, PAIR, roles=[CONTROL], accesses=Accesses("any", access, own))


def first(access: Access, kind: str = "ip") -> Gateway:
    return laid_out(access, kind).gateways["a"][0]


def made(under: Underlay, answers: dict[str, Any] | None = None) -> tuple[dict[str, Node], FakeEvents]:
    events, shell = FakeEvents(), FakeShell(answers)
    names = [*under.names, "lab"]
    return {name: Node(name, shell, events, [] if name == "lab" else ["nsenter", "--"]) for name in names}, events


def addresses(under: Underlay) -> list[str]:
    """The addresses from `a` to the router, each interface's own."""
    found = [under.endpoints["a"].local]
    for one in under.gateways["a"]:
        found += [one.inside.address, one.outside.address]
    return found


@pytest.mark.parametrize(
    ("kind", "access", "expected"),
    [
        ("ip", ROUTED, ["10.0.1.2", "10.0.1.1", "10.2.1.2"]),
        ("ip", HOME, ["10.2.1.2", "10.2.1.1", "10.0.1.2"]),
        ("ip", TWICE, ["10.2.1.2", "10.2.1.1", "10.3.1.2", "10.3.1.1", "10.0.1.2"]),
        ("ip6", TWICE, ["fd00:0:0:1::2", "fd00:0:0:1::1", "fd02:0:0:1::2"]),
    ],
)
def test_others_reach_an_endpoint_where_they_did(kind: str, access: Access, expected: list[str]) -> None:
    under = laid_out(access, kind)
    assert addresses(under) == expected
    assert under.endpoints["a"].address == underlay.of(kind).endpoints["a"].address
    assert under.outermost("a")[1].address == expected[-1]
    assert under.outermost(CONTROL) == (CONTROL, under.roles[CONTROL])


def test_gateways_stand_before_whom_they_are_given_to() -> None:
    assert laid_out(HOME).names == ["a", "b", "control", "gateway-a", "gateway-b", "router", "edge"]
    assert laid_out(None, b=TWICE, control=HOME).names[3:6] == ["gateway-b", "carrier-b", "gateway-control"]
    assert laid_out(HOME, a=TWICE).names[3:6] == ["gateway-a", "carrier-a", "gateway-b"]
    assert laid_out(HOME).passed == laid_out(HOME).names[:-1]
    assert len(underlay.of("ip", read("mesh:nodes=5"), accesses=Accesses("any", HOME)).gateways) == 5


def test_no_gateway_stands_before_a_bridge() -> None:
    with pytest.raises(ValueError, match="needs Ethernet"):
        laid_out(HOME, "ethernet")


def test_who_must_speak_first() -> None:
    assert laid_out(None).closed == frozenset()
    assert laid_out(ROUTED, b=HOME).closed == {"b"}
    assert laid_out(ROUTED, "ip6").closed == {"a", "b"}


def test_links_and_routes_lead_through_the_gateways() -> None:
    nodes, events = made(laid_out(None, a=ROUTED, b=TWICE))
    links.build(laid_out(None, a=ROUTED, b=TWICE), nodes)
    lines = "\n".join(events.commands)
    for expected in (
        "link add lan netns gateway-a type veth peer name eth0 netns a\n",
        "link add to-a netns router mtu 1400 type veth peer name wan netns gateway-a mtu 1400\n",
        "link add lan netns carrier-b mtu 1400 type veth peer name wan netns gateway-b mtu 1400\n",
        "link add to-b netns router type veth peer name wan netns carrier-b\n",
        "address add 10.2.1.1/24 dev to-a\n",
        "route add 10.0.1.0/24 via 10.2.1.2\n",
        "address add 10.0.2.1/24 dev to-b\n",
        "address add 10.2.2.2/24 dev eth0\nroute add default via 10.2.2.1\n",
        "address add 10.3.2.2/24 dev wan\nroute add default via 10.3.2.1\n",
    ):
        assert expected in lines
    # Who is translated needs no route.
    assert lines.count("route add 10.") == 2, "one to a, and the edge's own"


def test_rates_and_delays_lie_where_packets_enter_and_where_they_come_out() -> None:
    under = laid_out(None, a=HOME, b=TWICE)
    assert [(one.interface, one.end, one.way.rate) for one in wires.entrances(under)] == [
        (Interface("gateway-a", "wan"), Interface("router", "to-a"), 10e6),
        (Interface("gateway-b", "wan"), Interface("carrier-b", "lan"), 10e6),
        (Interface("router", "to-a"), Interface("gateway-a", "wan"), 50e6),
        (Interface("carrier-b", "lan"), Interface("gateway-b", "wan"), 50e6),
    ]
    assert wires.crossings(under) == [
        Crossing(Interface("gateway-a", "wan"), "from-network", 0.012, 0.004),
        Crossing(Interface("router", "to-a"), "from-a", 150e-6 + 0.011, 0.004, "rate 10000000bit 24"),
        Crossing(Interface("gateway-b", "wan"), "from-network", 0.002),
        Crossing(Interface("carrier-b", "lan"), "from-b", 0.0, sent="rate 10000000bit 24"),
        Crossing(Interface("router", "to-b"), "from-b", 150e-6 + 0.001),
        Crossing(Interface("router", "to-control"), "from-control", 150e-6),
    ]


def body(rules: str, chain: str) -> list[str]:
    """The rules of a chain."""
    lines = rules.partition(f"chain {chain} {{\n")[2].partition("\n    }")[0].splitlines()
    return [line.strip() for line in lines[1:]]


def test_what_only_routes_has_no_rule() -> None:
    assert gateway_rules.rules(first(ROUTED)) == ""
    assert not gateway_rules.tracks(first(ROUTED))
    assert gateway_rules.tracks(first(ROUTED, "ip6"))


@pytest.mark.parametrize("kind", NATS)
def test_a_nat_is_there_over_ipv4_alone(kind: str) -> None:
    rules = gateway_rules.rules(first(Access("x", nat=kind)))
    assert body(rules, "out")
    assert body(rules, "input") == ['iifname "wan" ct state new counter name unasked drop']
    rules = gateway_rules.rules(first(Access("x", nat=kind), "ip6"))
    assert "nat" not in rules
    assert body(rules, "forward")[-1] == 'iifname "wan" ct state new counter name unasked drop'


def test_a_mapping_of_a_map_lives_as_long_as_that_of_the_kernel() -> None:
    one = first(Access("x", nat="full-cone", udp_mapping=30, tcp_mapping=300))
    assert "timeout 30s" in body(gateway_rules.rules(one), "learnt")[0]
    assert gateways._timeouts(one) == [
        "net.netfilter.nf_conntrack_udp_timeout=30",
        "net.netfilter.nf_conntrack_udp_timeout_stream=30",
        "net.netfilter.nf_conntrack_tcp_timeout_established=300",
    ]


@pytest.mark.parametrize(
    ("kind", "learnt"),
    [("full-cone", "udp sport timeout 45s"), ("address-restricted", "ip daddr . udp sport timeout 45s")],
)
def test_what_lets_in_by_a_map_forgets_as_the_kernel_does(kind: str, learnt: str) -> None:
    one = first(Access("x", nat=kind, udp_mapping=45, tcp_mapping=600))
    # Each packet that leaves begins the life of its mapping anew.
    assert f"update @mapped {{ {learnt} : ip saddr . udp sport }}" in body(gateway_rules.rules(one), "learnt")[0]
    assert gateways._timeouts(one)[2:] == ["net.netfilter.nf_conntrack_tcp_timeout_established=600"]


@pytest.mark.parametrize("kind", ["port-restricted", "symmetric", "one-to-one"])
def test_where_the_kernel_alone_remembers_there_is_no_map(kind: str) -> None:
    one = first(Access("x", nat=kind, udp_mapping=45, tcp_mapping=600))
    assert "timeout" not in gateway_rules.rules(one)
    nodes, events = made(laid_out(Access("x", nat=kind, udp_mapping=45, tcp_mapping=600)))
    gateways.build(laid_out(Access("x", nat=kind, udp_mapping=45, tcp_mapping=600)), nodes)
    assert any("nf_conntrack_tcp_timeout_established=600" in one for one in events.commands)


@pytest.mark.parametrize(("kind", "allowed"), [("ip", "ip daddr 10.0.252.2"), ("ip6", "ip6 daddr fd00:0:0:fc::2")])
def test_only_what_is_for_nodes_with_a_role_goes_out(kind: str, allowed: str) -> None:
    text = gateway_rules.rules(first(Access("x", firewall="only-relay"), kind))
    lines = [line.strip() for line in text.splitlines()]
    at = lines.index(f'iifname "lan" {allowed} accept')
    assert lines[at + 1] == 'iifname "lan" counter name only-relay drop'


def test_what_was_tried_is_what_gateways_dropped() -> None:
    listed = [{"counter": {"name": "no-udp", "packets": 7}}, {"counter": {"name": "invalid", "packets": 0}}]
    under = laid_out(Access("x", firewall="no-udp"))
    nodes, _ = made(under, {"list counters": json.dumps({"nftables": listed})})
    assert gateways.tried(under, nodes) == "gateway-a dropped 7 by no-udp; gateway-b dropped 7 by no-udp"
    assert gateways.tried(laid_out(None), nodes) == ""


def test_a_carrier_translates_and_lets_in_answers_and_no_more() -> None:
    access = Access("x", nat="one-to-one", carrier="symmetric", firewall="no-udp", mss="path", fragments="dropped")
    near, far = laid_out(access).gateways["a"]
    assert body(gateway_rules.rules(far), "forward") == [
        "ct state invalid counter name invalid drop",
        "ct state established,related accept",
        'iifname "wan" ct state new counter name unasked drop',
    ]
    assert body(gateway_rules.rules(far), "out") == [
        'oifname "wan" meta l4proto udp masquerade random,fully-random',
        'oifname "wan" masquerade',
    ]
    assert body(gateway_rules.rules(near), "in") == ['iifname "wan" ip daddr 10.3.1.2 dnat to 10.2.1.2']
    assert near.link is access.link
    assert far.link is None


def test_errors_that_are_filtered_are_those_of_both_ends() -> None:
    under = laid_out(None, a=Access("x", icmp="filtered"), b=TWICE)
    nodes, events = made(under)
    gateways.build(under, nodes)
    files = {one["node"]: one["text"] for one in events.of("file")}
    assert set(files) == {"gateway-a", "gateway-b", "carrier-b", "router"}
    [rule] = [line for line in body(files["router"], "output") if "icmp type" in line]
    assert "@th,192,32 0xa000102" in rule
    assert len(body(files["gateway-a"], "forward")) == len(body(files["gateway-a"], "output")) == 2


def test_before_a_carrier_the_network_is_no_narrower_than_a_large_link() -> None:
    jumbo = Access("x", Link("jumbo", mtu=9000), nat="port-restricted", carrier="port-restricted")
    assert [one.outside.mtu for one in laid_out(jumbo).gateways["a"]] == [9000, 9000]
    assert [one.outside.mtu for one in laid_out(TWICE).gateways["a"]] == [1400, 1500]


@pytest.mark.parametrize(
    ("kind", "networks"),
    [
        ("ip", ["@th,192,32 0xa000102", "@th,192,24 0xa0101", "@th,192,32 0xa000202", "@th,192,24 0xa0102"]),
        (
            "ip6",
            [
                "@th,256,128 0xfd000000000000010000000000000002",
                "@th,256,64 0xfd01000000000001",
                "@th,256,128 0xfd000000000000020000000000000002",
                "@th,256,64 0xfd01000000000002",
            ],
        ),
    ],
)
def test_errors_about_hosts_behind_an_endpoint_are_filtered_too(kind: str, networks: list[str]) -> None:
    access = Access("x", icmp="filtered", firewall="open")
    under = underlay.of(kind, read("site-to-site"), accesses=Accesses("any", access))
    nodes, events = made(under)
    gateways.build(under, nodes)
    [router] = [one["text"] for one in events.of("file") if one["node"] == "router"]
    found = [line.partition(" @")[2].partition(" counter")[0] for line in body(router, "output") if "@th" in line]
    assert [f"@{one}" for one in found] == networks


def test_what_the_middle_keeps_to_itself_is_told() -> None:
    under = laid_out(
        None, a=Access("x", icmp="filtered"), b=Access("y", icmp="filtered", carrier="symmetric", nat="symmetric")
    )
    nodes, events = made(under, {"nft -j list counters": listed(**{"icmp-filtered": 4})})
    gateways.Watch(under, nodes).tell("pmtu", events)
    assert [one["node"] for one in events.of("gateway")] == ["gateway-a", "gateway-b", "carrier-b", "router"]


def test_fragments_are_looked_for_before_they_are_put_together() -> None:
    rules = gateway_rules.rules(first(Access("x", fragments="dropped")))
    # The kernel puts together at -400: NF_IP_PRI_CONNTRACK_DEFRAG.
    assert "type filter hook prerouting priority -450;" in rules
    # More fragments, or an offset: the first one has no offset, and the last one no mark.
    assert body(rules, "leaving")[0] == "ip frag-off & 0x3fff != 0 counter name fragments drop"


@pytest.mark.parametrize("kind", NATS)
def test_what_a_map_leads_in_is_asked_for(kind: str) -> None:
    last = body(gateway_rules.rules(first(Access("x", nat=kind))), "forward")[-1]
    mapped = "ct status & dnat == 0 " if kind in ("full-cone", "address-restricted") else ""
    assert last == f'iifname "wan" ct state new {mapped}counter name unasked drop'


def test_counters_of_one_name_in_several_tables_are_added() -> None:
    named = [{"counter": {"name": "fragments", "table": table, "packets": 3}} for table in ("inet", "netdev")]
    answer = json.dumps({"nftables": [{"metainfo": {"version": "1.0.6"}}, *named]})
    nodes, _ = made(laid_out(HOME), {"nft -j list counters": answer})
    assert gateways.dropped(nodes["gateway-a"]) == {"fragments": 6}


def test_without_nft_gateways_are_unsupported() -> None:
    under = laid_out(HOME)
    nodes, _ = made(under, {"' nft": Result(127, "", "")})
    with pytest.raises(Unsupported, match="nft"):
        gateways.build(under, nodes)


def listed(**counters: int) -> str:
    named = [{"counter": {"name": name, "packets": count, "bytes": 0}} for name, count in counters.items()]
    return json.dumps({"nftables": [{"metainfo": {"version": "1.0.6"}}, *named]})


def test_what_each_rule_dropped_is_told_by_workload() -> None:
    states = [listed(unasked=3, invalid=0)] * 2 + [listed(unasked=3, invalid=0), listed(unasked=5, invalid=1)]
    under = laid_out(HOME)
    nodes, events = made(under, {"nft -j list counters": lambda _: Result(0, states.pop(0), "")})
    gateways.Watch(under, nodes).tell("ping", events)
    assert [(one["node"], one["workload"], one["dropped"]) for one in events.of("gateway")] == [
        ("gateway-a", "ping", {"unasked": 0, "invalid": 0}),
        ("gateway-b", "ping", {"unasked": 2, "invalid": 1}),
    ]


def test_without_gateways_nothing_is_asked_or_told() -> None:
    nodes, events = made(underlay.of("ip"))
    gateways.build(underlay.of("ip"), nodes)
    gateways.Watch(underlay.of("ip"), nodes).tell("ping", events)
    assert events.told == []


@pytest.mark.parametrize("name", ["home-fibre", "cgnat", "cloud", "office-strict"])
def test_a_shipped_access_keeps_what_nobody_asked_it_to_change(name: str) -> None:
    [value] = read_accesses(name)
    assert value.default
    assert (value.default.icmp, value.default.fragments, value.default.dscp) == (PASSED, PASSED, KEPT)
    assert "dscp" not in gateway_rules.rules(first(value.default))
