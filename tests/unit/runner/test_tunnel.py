"""What every tunnel inherits: addresses, options, the MTU, daemons, and how an interface is settled."""

import ipaddress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fakes import FakeEvents, FakeShell, move_home, two_nodes
from tunbench.runner.declare import topology
from tunbench.runner.declare.options import Option, Options, resolve
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.packet_format import IP, UDP, Header
from tunbench.runner.declare.tunnel import About, Claims
from tunbench.runner.network import underlay
from tunbench.runner.network.links import NETWORKS
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import LayerContext, Nodes, Tunnel, address, common_options

families = st.sampled_from([4, 6])
indexes = st.integers(0, 40)


class Wide(Tunnel):
    """A tunnel of no technology that takes every option there is; with `tag=on` it adds a header, and claims more."""

    about = About(
        name="wide",
        summary="",
        layer=3,
        claims=Claims(),
        evidence="udp port {port} and udp[8] = {port}",
        headers=(UDP,),
        options={
            "port": Option("count", "7", "UDP port", low=1, high=255),
            "tag": Option("switch", "off", "whether there is a tag"),
        },
        families=(4, 6),
        outer=(4, 6),
    )

    @classmethod
    def with_options(cls, options: Options) -> About:
        headers = (*cls.about.headers, Header("tag", 16, "nowhere")) if options["tag"] else cls.about.headers
        return cls.about._replace(headers=headers, claims=Claims(integrity=bool(options["tag"])))

    def up(self, node: Node, nodes: Nodes) -> None:
        for number in (1, 2):
            self.start(node, "daemon", str(number))
        self.settle(node)


def options(**given: str) -> Options:
    return resolve(Wide.takes(), given, "wide")


def over(kind: str = "ip", **given: str) -> Wide:
    """The tunnel as the lowest layer over this underlay."""
    below = PAIR_UNDERLAYS[kind].endpoints
    return Wide(options(**given), LayerContext(0, below, Wide.yields(options(**given), 0, below)))


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


@given(st.ip_addresses(), st.integers(1, 65535))
def test_a_host_stands_before_a_port(ip: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int) -> None:
    overlay = Overlay("eth0", str(ip), ip.max_prefixlen, 1500)
    split = urlsplit(f"udp://{overlay.host}:{port}")
    assert (split.hostname, split.port) == (str(ip), port)
    assert overlay.family == ip.version
    assert ipaddress.ip_interface(overlay.cidr).ip == ip


def network(family: int, index: int) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    text, prefix = address(family, index, 1)
    return ipaddress.ip_interface(f"{text}/{prefix}").network


@given(family=families, index=indexes, numbers=st.lists(st.integers(1, 9), min_size=2, max_size=9, unique=True))
def test_the_endpoints_of_a_layer_share_its_network(family: int, index: int, numbers: list[int]) -> None:
    found = [ipaddress.ip_address(address(family, index, number)[0]) for number in numbers]
    assert {one.version for one in found} == {family}
    assert len(set(found)) == len(numbers)
    assert all(one in network(family, index) for one in found)


@given(family=families, index=indexes, other=indexes)
def test_layers_have_networks_apart_from_each_other_and_from_the_underlay(family: int, index: int, other: int) -> None:
    here, there = network(family, index), network(family, other)
    assert here.overlaps(there) == (index == other)
    underlay, lab, _ = (ipaddress.ip_network(one) for one in NETWORKS[family])
    assert not here.overlaps(underlay)
    assert here.subnet_of(lab)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "cidrs"),
    [
        ({}, ["10.13.0.1/24", "10.13.0.2/24"]),
        ({"inner": "ipv4"}, ["10.13.0.1/24", "10.13.0.2/24"]),
        ({"inner": "ipv6"}, ["fd10:3::1/64", "fd10:3::2/64"]),
    ],
)
def test_the_inner_family_is_that_of_the_overlay(given: dict[str, str], cidrs: list[str]) -> None:
    found = Wide.yields(options(**given), 3, PAIR_UNDERLAYS["ip"].endpoints)
    assert [overlay.cidr for overlay in found.values()] == cidrs
    assert {overlay.interface for overlay in found.values()} == {"wide-3"}
    assert list(found) == ["a", "b"]


def test_a_tunnel_of_one_family_yields_that() -> None:
    class Narrow(Wide):
        about = Wide.about._replace(families=(6,), outer=(4,))

    found = Narrow.yields(resolve(Narrow.takes(), {}, "narrow"), 0, PAIR_UNDERLAYS["ip"].endpoints)
    assert {overlay.family for overlay in found.values()} == {6}
    assert set(Narrow.takes()) == {"port", "tag", "mtu"}


@pytest.mark.parametrize(
    ("families", "outer", "expected"),
    [
        ((4,), (4,), {"mtu"}),
        ((4, 6), (4,), {"mtu", "inner"}),
        ((4,), (4, 6), {"mtu", "outer"}),
        ((4, 6), (4, 6), {"mtu", "inner", "outer"}),
    ],
)
def test_there_is_an_option_where_there_is_a_choice(
    families: tuple[int, ...], outer: tuple[int, ...], expected: set[str]
) -> None:
    assert set(common_options(Wide.about._replace(families=families, outer=outer))) == expected


@given(mtu=st.integers(576, 65535), kind=st.sampled_from(["ip", "ip6"]))
def test_an_mtu_that_was_asked_for_is_taken(mtu: int, kind: str) -> None:
    found = Wide.yields(options(mtu=str(mtu)), 0, PAIR_UNDERLAYS[kind].endpoints)
    assert {overlay.mtu for overlay in found.values()} == {mtu}


@pytest.mark.parametrize(
    ("kind", "given", "mtu"),
    [("ip", {}, 1472), ("ip6", {}, 1452), ("ip", {"tag": "on"}, 1456), ("ip6", {"tag": "on", "inner": "ipv6"}, 1436)],
)
def test_the_mtu_follows_from_the_family_below_and_from_the_options(kind: str, given: dict[str, str], mtu: int) -> None:
    layer = over(kind, **given)
    assert {overlay.mtu for overlay in layer.context.above.values()} == {mtu}
    assert layer.context.outer == (6 if kind == "ip6" else 4)
    assert layer.format(layer.options, layer.context.outer).outside[0] == IP[layer.context.outer]


def test_options_change_what_is_declared() -> None:
    assert over().declared == Wide.about
    declared = over(tag="on").declared
    assert declared.claims.integrity
    assert sum(header.size for header in declared.headers) == 24


def test_evidence_has_its_options_filled_in_for_each_family() -> None:
    assert Wide.evidence(options(port="9"), 4) == "udp port 9 and udp[8] = 9"
    assert Wide.evidence(options(port="9"), 6) == "udp port 9 and ip6[48] = 9"


def test_a_file_belongs_to_a_layer_and_to_a_node(home: Path) -> None:
    below = PAIR_UNDERLAYS["ip"].endpoints
    layers = [Wide(options(), LayerContext(index, below, Wide.yields(options(), index, below))) for index in (0, 1)]
    assert layers[1].file("b", "conf") == home / "b" / "wide-1-conf"
    assert len({layer.file(node, "conf") for layer in layers for node in ("a", "b")}) == 4


def test_daemons_are_stopped_in_reverse_on_their_node_alone() -> None:
    shell = FakeShell()
    nodes = two_nodes(shell, events := FakeEvents())
    layer = over()
    for node in nodes:
        layer.up(node, {one.name: one for one in nodes})
    ended: list[str] = []
    for process in shell.started:
        process.stop = lambda text=process.call.text: ended.append(text)  # type: ignore[method-assign, misc]
    layer.down(nodes[1])
    assert ended == ["daemon 2", "daemon 1"]
    layer.down(nodes[1])
    assert len(ended) == 2
    layer.down(nodes[0])
    assert len(ended) == 4
    assert events.commands[-1] == "ip netns exec a ip link del wide-0"


def test_the_log_of_a_daemon_is_that_of_its_layer(home: Path) -> None:
    [node, _] = two_nodes(FakeShell(), FakeEvents())
    layer = over()
    layer.start(node, "daemon")
    assert list(node.tails()) == ["a/wide-0.log"]
    assert (home / "a" / "wide-0.log").exists()


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ({}, "ip address add 10.10.0.1/24 dev wide-0"),
        ({"inner": "ipv6"}, "ip address add fd10:0::1/64 dev wide-0 nodad"),
    ],
)
def test_an_address_of_ipv6_is_used_at_once(given: dict[str, str], added: str) -> None:
    [node, _] = two_nodes(shell := FakeShell(), FakeEvents())
    over(**given).settle(node)
    assert shell.texts == ["ip link set wide-0 mtu 1472 up", added]


def test_what_a_layer_carries_is_seen_on_its_interface() -> None:
    [_, node] = two_nodes(FakeShell(), FakeEvents())
    with over().watched(node) as interface:
        assert interface == "wide-0"


def test_the_peers_are_all_others() -> None:
    [a, b] = two_nodes(FakeShell(), FakeEvents())
    ring, star = topology.read("ring"), topology.read("hub-spoke:nodes=3")
    below = dict(underlay.of("ip", ring).endpoints)
    assert [LayerContext(0, below, below, ring).peers(node) for node in (a, b)] == [["b", "c"], ["a", "c"]]
    assert [LayerContext(0, below, below, star).peers(node) for node in (a, b)] == [["b", "c"], ["a"]]


def test_a_spoke_reaches_the_others_through_the_hub_and_a_site_the_hosts_behind_its_peer() -> None:
    [a, b] = two_nodes(FakeShell(), FakeEvents())
    star = topology.read("hub-spoke:nodes=4")
    above = Wide.yields(options(), 0, underlay.of("ip", star).endpoints)
    context = LayerContext(0, {}, above, star)
    assert context.carries(b, "a") == ["10.10.0.1/32", "10.10.0.3/32", "10.10.0.4/32"]
    assert context.carries(a, "b") == ["10.10.0.2/32"]
    site = LayerContext(0, {}, above, topology.read("site-to-site"), {"b": "10.1.2.0/24"})
    assert site.carries(a, "b") == ["10.10.0.2/32", "10.1.2.0/24"]
