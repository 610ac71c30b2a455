"""Gateways that open ports to who asks: their addresses, rules and daemon, who may ask, and what is read of it."""

import json
from contextlib import suppress
from pathlib import Path

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell
from tunbench.plan.axes.access import read_accesses
from tunbench.runner import stack
from tunbench.runner.declare.access import PORTMAPS, Access, Accesses, of_spec
from tunbench.runner.declare.failures import StackFailed, Unsupported
from tunbench.runner.network import links, underlay
from tunbench.runner.network.access import gateway_rules, gateways, portmap
from tunbench.runner.network.underlay import Underlay
from tunbench.runner.node import node as node_module
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result
from tunbench.runner.site import Site
from tunbench.runner.workloads.shared import blocks

OPENING = Access("x", nat="symmetric", portmap="pcp")
LISTENING = {"ss -": "UNCONN 0 0 0.0.0.0:5351"}


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(node_module, "HOME", tmp_path)


def laid_out(kind: str = "ip", **own: Access) -> Underlay:
    return underlay.of(kind, accesses=Accesses("any", None, own))


def nodes_of(under: Underlay, answers: dict[str, str | Result] | None = None) -> tuple[dict[str, Node], FakeEvents]:
    events, shell = FakeEvents(), FakeShell({**LISTENING, **(answers or {})})
    names = [*under.names, "lab"]
    return {name: Node(name, shell, events, [] if name == "lab" else ["nsenter", "--"]) for name in names}, events


def test_who_opens_ports_has_an_address_of_global_scope_and_others_reach_its_endpoint_by_that() -> None:
    under = laid_out(a=OPENING, b=Access("y", nat="symmetric"))
    assert [under.endpoints[name].address for name in "ab"] == ["12.0.1.2", "10.0.2.2"]
    assert [under.endpoints[name].local for name in "ab"] == ["10.2.1.2", "10.2.2.2"]
    assert under.gateways["a"][0].outside.address == "12.0.1.2"
    nodes, events = nodes_of(under)
    links.build(under, nodes)
    lines = "\n".join(events.commands)
    assert "address add 12.0.1.1/24 dev to-a\n" in lines
    # The end of the world, which has all other addresses itself, finds the way back.
    assert "route add 12.0.0.0/16 via 10.0.255.1" in lines


def test_without_an_open_port_the_end_of_the_world_knows_what_it_knew() -> None:
    under = laid_out(a=Access("y", nat="symmetric"))
    nodes, events = nodes_of(under)
    links.build(under, nodes)
    assert "12.0" not in "\n".join(events.commands)


@pytest.mark.parametrize(
    ("kind", "own", "asking"),
    [
        ("ip", {"a": OPENING, "b": Access("y", nat="symmetric")}, {"a"}),
        ("ip", {"b": OPENING}, {"b"}),
        ("ip", {}, set()),
        # Over IPv6 nothing is translated.
        ("ip6", {"a": OPENING, "b": OPENING}, set()),
    ],
)
def test_who_may_ask(kind: str, own: dict[str, Access], asking: set[str]) -> None:
    under = laid_out(kind, **own)
    assert under.asking == asking
    assert {name for name in under.endpoints if under.endpoints[name].address.startswith("12.")} == asking
    nodes, _ = nodes_of(under)
    assert portmap.opened_before(under, nodes).keys() == asking


@pytest.mark.parametrize("protocol", PORTMAPS)
def test_an_open_port_is_let_in_before_what_is_unasked_is_dropped(protocol: str) -> None:
    rules = gateway_rules.rules(laid_out(a=Access("x", nat="port-restricted", portmap=protocol)).gateways["a"][0])
    assert rules.index('iifname "wan" jump let-in') < rules.index('iifname "wan" ct state new counter name unasked')
    assert rules.index("chain let-in { }") < rules.index("chain forward {")
    # Before the NAT's own chains, which stand at dstnat and srcnat.
    assert "nat hook prerouting priority dstnat - 1" in rules
    assert "nat hook postrouting priority srcnat - 1" in rules
    other = {"nat-pmp": "@th,64,8 != 0", "pcp": "@th,64,8 != 2"}.get(protocol)
    assert ("counter name portmap drop" in rules) == (other is not None)
    assert other is None or other in rules


def test_who_opens_nothing_has_none_of_these_rules() -> None:
    rules = gateway_rules.rules(laid_out(a=Access("x", nat="symmetric")).gateways["a"][0])
    assert "let-in" not in rules and portmap.TABLE not in rules and "portmap" not in rules


@pytest.mark.parametrize(
    ("protocol", "natpmp", "upnp"), [("nat-pmp", "yes", "no"), ("pcp", "yes", "no"), ("upnp", "no", "yes")]
)
def test_the_daemon_is_told_what_it_serves(protocol: str, natpmp: str, upnp: str) -> None:
    under = laid_out(a=Access("x", nat="symmetric", portmap=protocol))
    nodes, events = nodes_of(under)
    gateways.build(under, nodes)
    [text] = [one["text"] for one in events.of("file") if one["path"].endswith("miniupnpd.conf")]
    said = dict(line.split("=", 1) for line in text.splitlines())
    assert (said["enable_natpmp"], said["enable_upnp"]) == (natpmp, upnp)
    assert said["upnp_table_name"] == gateway_rules.TABLE
    assert any("miniupnpd -d -f" in line for line in events.commands)


def test_without_the_daemon_or_without_an_answer_of_it_no_stack_is_brought_up(monkeypatch: pytest.MonkeyPatch) -> None:
    under = laid_out(a=OPENING)
    nodes, _ = nodes_of(under, {"' miniupnpd": Result(127, "", "")})
    with pytest.raises(Unsupported, match="apt-get install miniupnpd-nftables"):
        gateways.build(under, nodes)
    monkeypatch.setattr(portmap, "START_TIMEOUT", 0.01)
    nodes, _ = nodes_of(under, {"ss -": ""})
    with pytest.raises(StackFailed, match="gateway-a: miniupnpd did not listen"):
        gateways.build(under, nodes)


def test_what_is_open_is_read_where_the_daemon_keeps_it_and_told() -> None:
    under = laid_out(a=OPENING)
    nodes, events = nodes_of(under, {"nft -j list counters": json.dumps({"nftables": []})})
    leases = nodes["gateway-a"].home / portmap.LEASES
    leases.parent.mkdir(parents=True, exist_ok=True)
    # As miniupnpd 2.3.1 wrote it.
    leases.write_text(
        "UDP:41641:10.2.1.2:41641:1795733553:NAT-PMP 41641 udp\nTCP:4001:10.2.1.2:4000:1796334756:a name: with colons\n"
    )
    gateways.Watch(under, nodes).tell("ping", events)
    [told] = events.of("gateway")
    assert told["opened"] == [
        {"protocol": "tcp", "port": 4001, "to": "10.2.1.2:4000"},
        {"protocol": "udp", "port": 41641, "to": "10.2.1.2:41641"},
    ]
    leases.unlink()
    assert portmap.opened(nodes["gateway-a"]) == []


@pytest.mark.parametrize(
    ("tunnel", "silent"), [("headscale", "TS_DISABLE_PORTMAPPER=1"), ("netbird", "NB_DISABLE_NAT_MAPPER=true")]
)
def test_a_tunnel_asks_where_it_may_and_nowhere_else(tunnel: str, silent: str) -> None:
    under = underlay.of("ip", roles=["control"], accesses=Accesses("any", None, {"a": OPENING}))
    built = stack.build(tunnel, under.endpoints, beside=under.roles, asking=under.asking)
    shell = FakeShell()
    nodes = {name: Node(name, shell, FakeEvents(), ["nsenter", "--"]) for name in ("control", "a", "b")}
    for node in nodes.values():
        node.home.mkdir(parents=True)
    asked = {}
    for name in "ab":
        before = len(shell.texts)
        # Nobody is here who would give it its address.
        with suppress(StackFailed):
            built.layers[0].up(nodes[name], nodes)
        asked[name] = silent not in "\n".join(shell.texts[before:])
    assert asked == {"a": True, "b": False}


def test_a_shard_says_it_and_without_it_is_what_it_was() -> None:
    [one] = read_accesses({"name": "x", "nat": "symmetric", "portmap": "upnp"})
    assert of_spec(json.loads(json.dumps(one.spec()))).all[0].portmap == "upnp"
    assert one.addons == ["miniupnpd"]
    [one] = read_accesses({"name": "x", "nat": "symmetric", "portmap": "none"})
    assert "portmap" not in one.spec()["default"]
    assert one.addons == []


def test_the_lowest_layer_alone_asks() -> None:
    under = laid_out(a=OPENING, b=OPENING)
    built = stack.build("wireguard+vpncloud", under.endpoints, asking=under.asking)
    assert [set(layer.context.asking) for layer in built.layers] == [{"a", "b"}, set()]


def test_a_nat_that_opens_ports_is_not_said_to_forget_its_mappings() -> None:
    under = laid_out(a=OPENING, b=Access("y", nat="symmetric"))
    site = Site(nodes_of(under)[0], under, stack.build("wireguard", under.endpoints))
    blocks.check_mappings(site, "b")
    with pytest.raises(Unsupported, match=r"the ports that gateway-a opens .*: take portmap away from the access of a"):
        blocks.check_mappings(site, "a")
