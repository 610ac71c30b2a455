"""Accesses of IPv6 alone: what an endpoint has there, what each node is told, and what its translators are given."""

import json
from ipaddress import ip_address
from pathlib import Path

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell
from tests.helpers.small_plans import small_plan as plan
from tunbench.plan.axes.access import read_accesses
from tunbench.plan.expand import expand
from tunbench.runner import registry, stack
from tunbench.runner.declare import spelling
from tunbench.runner.declare.access import USUAL_NAT64, Access, Accesses, of_spec
from tunbench.runner.declare.failures import StackFailed, Unsupported
from tunbench.runner.declare.link import Link
from tunbench.runner.declare.options import resolve
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.packet_format import TCP, UDP
from tunbench.runner.declare.topology import CONTROL, PAIR
from tunbench.runner.declare.tunnel import BARE
from tunbench.runner.network import links, underlay
from tunbench.runner.network.access import gateway_rules, nat64
from tunbench.runner.network.underlay import Underlay
from tunbench.runner.node import node as node_module
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result
from tunbench.runner.site import Site
from tunbench.runner.workload import Trial
from tunbench.runner.workloads import recover
from tunbench.runner.workloads.shared import outages

LINE = Access("x", Link("line", mtu=1400), nat=USUAL_NAT64, family="nat64")
HOME = Access("y", nat="port-restricted")


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(node_module, "HOME", tmp_path)


def laid_out(kind: str = "ip", **own: Access) -> Underlay:
    return underlay.of(kind, PAIR, roles=[CONTROL], accesses=Accesses("any", None, own or {"a": LINE, "b": HOME}))


def made(under: Underlay, answers: dict[str, str | Result] | None = None) -> tuple[dict[str, Node], FakeEvents]:
    events, shell = FakeEvents(), FakeShell({"scope link": "inet6 fe80::1/64", **(answers or {})})
    names = [*under.names, "lab"]
    return {name: Node(name, shell, events, [] if name == "lab" else ["nsenter", "--"]) for name in names}, events


def test_an_endpoint_has_ipv6_alone_and_ipv4_from_its_own_translator() -> None:
    under = laid_out()
    assert under.endpoints["a"] == Overlay("clat", "12.0.1.2", 32, 1480, own="192.0.0.4")
    assert under.wired("a") == Overlay("eth0", "fd02:0:0:1::2", 64, 1500, 14)
    near, far = under.gateways["a"]
    sides = [str(one.address) for one in (near.inside, near.outside, far.inside, far.outside)]
    assert sides == ["fd02:0:0:1::1", "fd03:0:0:1::2", "fd03:0:0:1::1", "12.0.1.2"]
    # The link is that of IPv6.
    assert [(wire.near.name, wire.mtu) for wire in under.wires][:3] == [("eth0", 1500), ("wan", 1400), ("wan", 1500)]


def test_a_tunnel_has_at_both_ends_the_mtu_of_the_narrower_one() -> None:
    under = laid_out()
    assert (under.endpoints["b"].mtu, under.wired("b").mtu) == (1480, 1500)
    layer = stack.build("wireguard", under.endpoints).layers[0]
    assert {above.mtu for above in layer.context.above.values()} == {1420}


def test_whatever_is_translated_has_an_address_of_global_scope() -> None:
    under = laid_out()
    reached = [*(leaf.address for leaf in under.leaves.values()), under.gateways["b"][0].outside.address]
    assert all(ip_address(one).is_global for one in reached)
    assert under.endpoints["b"].local == "10.2.2.2"
    usual = laid_out(b=HOME)
    assert [usual.endpoints[name].address for name in "ab"] == ["10.0.1.2", "10.0.2.2"]


def test_over_ipv6_the_same_access_routes_and_filters() -> None:
    under = laid_out("ip6", a=LINE)
    [one] = under.gateways["a"]
    assert (one.nat, one.firewall, one.from_ipv6) == ("none", "stateful", False)
    nodes, events = made(under)
    nat64.build(under, nodes, events)
    assert "tayga" not in "\n".join(events.commands)


def test_each_node_knows_its_way_and_the_middle_none_of_ipv6() -> None:
    under = laid_out()
    nodes, events = made(under)
    links.build(under, nodes)
    nat64.build(under, nodes, events)
    by_node = {name: "\n".join(one["shell"] for one in events.of("command") if one["node"] == name) for name in nodes}
    assert "fd0" not in by_node["router"]
    assert "route add fd02:0:0:1::464 via fd02:0:0:1::2" in by_node["gateway-a"]
    assert "route add fd02:0:0:1::/64 via fd03:0:0:1::2" in by_node["carrier-a"]
    assert "route add 64:ff9b::/96 dev nat64" in by_node["carrier-a"]
    assert "route add default dev clat src 192.0.0.4 mtu 1480" in by_node["a"]
    # What is passed on is cut to what the link of IPv6 carries.
    assert "route add 10.3.1.2 dev nat64 mtu lock 1380" in by_node["carrier-a"]
    assert "tayga" not in by_node["b"] + by_node["gateway-b"]


def test_both_translators_know_the_endpoint_by_one_address() -> None:
    near, far = laid_out().gateways["a"]
    own, carrier = nat64.on_node(near), nat64.at_carrier(near, far)
    assert own.mapped == ("192.0.0.4", "fd02:0:0:1::464")
    assert carrier.mapped == ("10.3.1.2", "fd02:0:0:1::464")
    assert (own.mtu, carrier.mtu) == (1500, 1400)
    nodes, events = made(laid_out())
    nat64.build(laid_out(), nodes, events)
    texts = [one["text"] for one in events.of("file") if one["path"].endswith("tayga.conf")]
    assert len(texts) == 2
    assert all("prefix 64:ff9b::/96\n" in text for text in texts)


@pytest.mark.parametrize(("nat", "dropped"), [("address-restricted", True), ("symmetric", True), ("one-to-one", False)])
def test_what_has_no_ports_is_translated_for_an_address_of_ones_own_alone(nat: str, dropped: bool) -> None:
    _, far = laid_out(a=Access("x", nat=nat, family="nat64")).gateways["a"]
    rules = gateway_rules.rules(far)
    assert ("l4proto != { tcp, udp, icmpv6 } counter name no-ports drop" in rules) == dropped
    # State is kept of the packets of IPv4 alone, and those are filtered.
    assert "meta nfproto ipv6 notrack" in rules and "meta nfproto ipv6 accept" in rules


def test_a_firewall_filters_what_comes_from_the_translator() -> None:
    near, far = laid_out(a=Access("x", nat="symmetric", firewall="tcp-443", family="nat64")).gateways["a"]
    assert gateway_rules.rules(near) == ""
    assert 'iifname "nat64" tcp dport 443 accept' in gateway_rules.rules(far)


def test_fragments_are_dropped_where_they_enter_the_link_as_ipv6() -> None:
    near, far = laid_out(a=Access("x", nat="symmetric", fragments="dropped", family="nat64")).gateways["a"]
    assert "fragments" in gateway_rules.rules(near) and "fragments" not in gateway_rules.rules(far)


def test_without_the_daemon_or_without_its_interface_no_stack_is_brought_up(monkeypatch: pytest.MonkeyPatch) -> None:
    under = laid_out()
    nodes, events = made(under, {"' tayga": Result(127, "", "")})
    with pytest.raises(Unsupported, match="apt-get install tayga"):
        nat64.build(under, nodes, events)
    monkeypatch.setattr(nat64, "START_TIMEOUT", 0.01)
    nodes, events = made(under, {"grep -q 1 /sys/class/net": Result(1, "", "")})
    with pytest.raises(StackFailed, match="carrier-a: tayga did not take its interface"):
        nat64.build(under, nodes, events)


def test_a_kernel_that_reckons_no_checksums_is_told() -> None:
    nodes, events = made(laid_out(), {"tc -batch": Result(1, "", "Failed to load TC action module.")})
    nat64.build(laid_out(), nodes, events)
    assert [one["name"] for one in events.of("warning")] == ["link-differs"] * 2


def test_a_shard_says_it_and_needs_the_image_for_it() -> None:
    [one] = read_accesses({"name": "x", "family": "nat64"})
    again = of_spec(json.loads(json.dumps(one.spec())))
    assert (again.all[0].family, again.all[0].nat) == ("nat64", "address-restricted")
    assert one.addons == ["tayga"]
    [shard] = expand(plan(access={"default": "cgnat", "a": "lte-nat64"}))
    assert shard.addons == ["tayga"]


def test_an_endpoint_with_a_translator_does_not_move() -> None:
    under = laid_out()
    nodes, _ = made(under)
    site = Site(nodes, under, stack.build("wireguard", under.endpoints))
    outages.check_that_it_moves(site, nodes["b"])
    with pytest.raises(Unsupported, match="a has its address of IPv4 from a translator"):
        outages.check_that_it_moves(site, nodes["a"])


@pytest.mark.parametrize("event", ["reboot-all", "reboot"])
def test_an_event_that_moves_one_with_a_translator_is_unsupported(event: str) -> None:
    under = laid_out()
    nodes, _ = made(under)
    site = Site(nodes, under, stack.build("none:underlay=ip", under.endpoints))
    options = resolve(recover.ABOUT.options, {"event": event}, "recover")
    with pytest.raises(Unsupported, match="has its address of IPv4 from a translator"):
        recover.execute(Trial(options, nodes["b"], nodes["a"], site.stack.overlay, site=site))


def test_every_tunnel_over_udp_or_tcp_says_so_in_its_first_header() -> None:
    declared = [stack.declared(part) for name in registry.tunnel_names() for part in spelling.stack(name)]
    over_ipv4 = [
        about for about in declared if 4 in about.outer and about.needs_underlay == "ip" and about.name != BARE
    ]
    without = {about.name for about in over_ipv4 if about.headers[:1] not in ((UDP,), (TCP,))}
    assert without == {"gre", "gretap", "ipip", "ipsec", "pptp"}
