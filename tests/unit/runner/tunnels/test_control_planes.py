"""Control planes: a start with and without what nodes know, what goes with one that leaves, and what was not chosen."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.helpers.fakes import Answer, FakeEvents, FakeShell, move_home
from tunbench.runner import stack
from tunbench.runner.declare import topology
from tunbench.runner.declare.failures import StackFailed
from tunbench.runner.network import underlay
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result
from tunbench.runner.tunnel import Tunnel
from tunbench.runner.tunnels import headscale, netmaker

STATUS = "netbird-0.sock --ipv4"
ENROLS = {"netbird": "netbird login", "netmaker": "netclient register"}
"""What enrols a client."""


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    move_home(monkeypatch, tmp_path)
    (tmp_path / "c").mkdir()
    return tmp_path


def ring(spelling: str, shell: FakeShell) -> tuple[stack.Stack, list[Node]]:
    under = underlay.of("ip", topology.read("ring"), roles=stack.roles(spelling))
    nodes = [Node(name, shell, FakeEvents(), ["nsenter", "--"]) for name in (*under.roles, *under.endpoints)]
    built = stack.build(spelling, under.endpoints, under.topology, under.roles)
    stack.prepare(built, nodes)
    return built, nodes


def lift(layer: Tunnel, nodes: Sequence[Node]) -> None:
    acting = stack.of_layer(layer, nodes)
    for node in acting.values():
        layer.up(node, acting)
    layer.joined(acting)


def addresses() -> FakeShell:
    """A shell in which NetBird gives each endpoint its address, as often as it is asked in their order."""
    given = iter([f"10.10.0.{number}\n" for _ in range(3) for number in (1, 2, 3)])
    return FakeShell({STATUS: lambda _: Result(0, next(given), "")})


@pytest.mark.parametrize("name", ENROLS)
def test_a_client_that_is_known_does_not_enrol_again(name: str) -> None:
    shell = addresses()
    built, nodes = ring(name, shell)
    enrolled = []
    for _ in range(2):
        shell.calls.clear()
        stack.lift(built, nodes, lambda layer, overlay: None)
        enrolled.append(sum(ENROLS[name] in text for text in shell.texts))
        stack.lower(built.layers, nodes)
    assert enrolled == [3, 0]


@pytest.mark.parametrize("name", ENROLS)
def test_what_is_known_is_forgotten(name: str) -> None:
    shell = addresses()
    built, nodes = ring(name, shell)
    stack.lift(built, nodes, lambda layer, overlay: None)
    stack.lower(built.layers, nodes)
    shell.calls.clear()
    stack.forget(built, nodes)
    [layer] = built.layers
    names = {"netbird": ("data", "state"), "netmaker": ("data", "key")}[name]
    removed = " ".join(shell.texts)
    assert all(str(layer.file(node, file)) in removed for node, file in zip(("control", "c"), names, strict=True))


def test_who_leaves_netbird_is_deleted_there_before_its_keys_are() -> None:
    shell = addresses()
    built, nodes = ring("netbird", shell)
    stack.lift(built, nodes, lambda layer, overlay: None)
    shell.calls.clear()
    [layer] = built.layers
    acting = stack.of_layer(layer, nodes)
    layer.leave(acting["c"], acting)
    deleted, removed = shell.texts
    assert " DELETE " in deleted and "/api/peers/" in deleted
    assert removed.startswith("rm -rf") and str(layer.file("c", "key")) in removed


@pytest.mark.parametrize(
    ("known", "kept"),
    [
        ('{\n  "_machinekey": "cHJpdmtleTo=",\n  "_profiles": "e30="\n}', '{"_machinekey": "cHJpdmtleTo="}\n'),
        ("{}", "{}\n"),
        (None, "{}\n"),
    ],
)
def test_who_leaves_headscale_is_the_machine_that_it_was(known: str | None, kept: str, tmp_path: Path) -> None:
    folder = tmp_path / "state"
    if known:
        folder.mkdir()
        (folder / "tailscaled.state").write_text(known)
        (folder / "derpmap.cached.json").write_text("{}")
    subprocess.run(["sh", "-c", headscale.FORGET_ALL_BUT_MACHINE, folder], check=True)
    assert [(file.name, file.read_text()) for file in folder.iterdir()] == [("tailscaled.state", kept)]
    assert (folder / "tailscaled.state").stat().st_mode & 0o077 == 0


def test_an_address_that_was_not_chosen_is_a_failure() -> None:
    built, nodes = ring("netbird", FakeShell({STATUS: "10.10.0.77\n"}))
    with pytest.raises(StackFailed, match=r"netbird: a was given 10\.10\.0\.77 instead of 10\.10\.0\.1"):
        lift(built.layers[0], nodes)


def test_a_client_that_cannot_enrol_says_why() -> None:
    said: dict[str, Answer] = {"desc = ": "setup key is invalid\n", "netbird login": Result(None, "", "")}
    built, nodes = ring("netbird", FakeShell(said))
    with pytest.raises(StackFailed, match=r"netbird: a did not enrol within 25 s: setup key is invalid"):
        lift(built.layers[0], nodes)


def test_a_client_of_netmaker_that_cannot_enrol_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netmaker, "ENROLMENT_TIMEOUT", 0.05)
    said: dict[str, Answer] = {"tail -n 1": "Fatal: invalid enrollment key\n", "netclient register": Result(1, "", "")}
    built, nodes = ring("netmaker", FakeShell(said))
    reason = r"netmaker: a did not enrol within 0\.05 s; the client says: .* invalid enrollment key"
    with pytest.raises(StackFailed, match=reason):
        lift(built.layers[0], nodes)


def test_netbird_waits_for_a_direct_path_to_every_peer() -> None:
    shell = addresses()
    built, nodes = ring("netbird", shell)
    lift(built.layers[0], nodes)
    assert not any("connectionType" in call.text for call in shell.calls), "it answers first"
    built.layers[0].searched({node.name: node for node in nodes})
    assert [call.argv[-2:] for call in shell.calls if "connectionType" in call.text] == [["2", "P2P"]] * 3


def test_netmaker_waits_until_each_peer_is_the_endpoint() -> None:
    shell = FakeShell()
    built, nodes = ring("netmaker", shell)
    lift(built.layers[0], nodes)
    asked = [call.argv[-1] for call in shell.calls if "endpoints" in call.text]
    assert asked == [f"10.0.{number}.2:51821" for number in (2, 3, 1, 3, 1, 2)]


@pytest.mark.parametrize(
    ("spelling", "packet", "size"), [("netbird", 128, 188), ("netbird", 1280, 1340), ("netmaker", 1420, 1480)]
)
def test_sizes_are_those_of_wireguard(spelling: str, packet: int, size: int) -> None:
    built = stack.build(spelling, underlay.PAIR_UNDERLAYS["ip"].endpoints)
    [layer] = built.layers
    assert layer.format(layer.options, 4).size(packet, built.overlay["a"].mtu) == size
