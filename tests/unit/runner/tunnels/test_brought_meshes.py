"""Mesh VPNs whose programs the user brings: who is told of whom, what stays when they enrol anew, and how they fail."""

import json
from pathlib import Path

import pytest

from tests.helpers.fakes import Answer, FakeEvents, FakeShell, move_home
from tunbench.runner import stack
from tunbench.runner.declare import topology
from tunbench.runner.declare.failures import StackFailed
from tunbench.runner.declare.topology import CONTROL
from tunbench.runner.network import underlay
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result
from tunbench.runner.stack import Stack
from tunbench.runner.tunnels import zerotier

DENIED = (
    "200 listnetworks <nwid>\n200 listnetworks 17d7094b2c000001  ae:81:04:4a:63:86 ACCESS_DENIED PRIVATE zerotier-0 -"
)


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def prepared(spelling: str, form: str, answers: dict[str, Answer]) -> tuple[Stack, list[Node], FakeShell, FakeEvents]:
    shell, events = FakeShell(answers), FakeEvents()
    under = underlay.of("ip", topology.read(form), roles=stack.roles(spelling))
    names = [*under.roles, *under.endpoints]
    nodes = [Node(name, shell, events, ["nsenter", "--target", name, "--"]) for name in names]
    built = stack.build(spelling, under.endpoints, under.topology, under.roles)
    stack.prepare(built, nodes)
    return built, nodes, shell, events


def test_zerotier_tells_why_a_node_did_not_enrol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zerotier, "ENROLMENT_TIMEOUT", 0.05)
    built, nodes, *_ = prepared("zerotier", "pair", {"grep -q": Result(1, "", ""), "listnetworks": DENIED})
    reason = r"a did not enrol within 0.05 s; the daemon says: .* ACCESS_DENIED PRIVATE"
    with pytest.raises(StackFailed, match=reason), stack.up(built, nodes):
        raise AssertionError("it must not come up")


def test_zerotier_forgets_what_it_learnt_and_keeps_what_it_is() -> None:
    built, nodes, shell, _ = prepared("zerotier", "ring", {})
    [layer] = built.layers
    for node in nodes:
        layer.forget(node)
    removed = [call.argv[-1] for call in shell.calls if call.argv[:2] == ["rm", "-rf"]]
    assert [Path(path).name for path in removed] == ["zerotier-0-home"] * 4
    assert {Path(path).parent.name for path in removed} == {CONTROL, "a", "b", "c"}


def test_zerotier_has_members_with_the_addresses_of_the_overlay() -> None:
    built, *_, events = prepared("zerotier:mtu=1400", "mesh:nodes=5", {})
    records = [json.loads(one["text"]) for one in events.of("file") if "objtype" in one["text"]]
    [network] = [record for record in records if record["objtype"] == "network"]
    assert (network["mtu"], network["private"], network["routes"]) == (1400, True, [{"target": "10.10.0.0/24"}])
    members = [record["ipAssignments"] for record in records if record["objtype"] == "member"]
    assert members == [[overlay.address] for overlay in built.overlay.values()]


def test_mycelium_dials_those_that_are_there() -> None:
    built, nodes, shell, _ = prepared("mycelium", "mesh:nodes=4", {"s/^Address: //p": "400::1\n", "cut -d": "400::\n"})
    with stack.up(built, nodes):
        started = [one.call.text for one in shell.started]
    assert "--peers" not in started[0]
    assert started[3].endswith("--peers tcp://10.0.1.2:9651 tcp://10.0.2.2:9651 tcp://10.0.3.2:9651")
    assert all("--disable-peer-discovery" in text and "--disable-quic" in text for text in started)


@pytest.mark.parametrize(
    ("spelling", "packet", "size"),
    [
        # Captured on the router in the vm lab.
        ("zerotier", 92, 158),
        ("zerotier", 1328, 1394),
        ("hyprspace", 328, 394),
        ("hyprspace", 1328, 1394),
        ("hyprspace:transport=tcp", 328, 414),
        ("hyprspace:transport=tcp", 1328, 1414),
        ("mycelium", 560, 684),
    ],
)
def test_what_is_on_the_wire_is_within_the_bounds(spelling: str, packet: int, size: int) -> None:
    [layer] = stack.build(spelling, PAIR_UNDERLAYS["ip"].endpoints).layers
    form = layer.format(layer.options, 4)
    assert form.size(packet, 1420) - form.spare <= size <= form.size(packet, 1420)


@pytest.mark.parametrize(
    ("transport", "address"),
    [("quic", "/ip4/10.0.1.2/udp/8001/quic-v1"), ("tcp", "/ip4/10.0.1.2/tcp/8001")],
)
def test_hyprspace_begins_with_those_that_are_there(transport: str, address: str, home: Path) -> None:
    spelling = f"hyprspace:transport={transport}"
    *_, events = prepared(spelling, "ring", {"keygen": "12D3KooW\n"})
    written = {one["path"]: json.loads(one["text"]) for one in events.of("file")}
    first, _, last = (written[str(home / name / "hyprspace-0-template.json")] for name in "abc")
    assert first["listenAddresses"] == [address]
    assert len(first["bootstrapPeers"]) == 2
    assert f"{address}/p2p/<a>" in last["bootstrapPeers"]
    assert [peer["routes"] for peer in last["peers"]] == [[{"net": "10.10.0.1/32"}], [{"net": "10.10.0.2/32"}]]
