"""VpnCloud, wesher, innernet and EasyTier: what follows from their options, and what they forget."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell, move_home, two_nodes
from tunbench.runner import stack
from tunbench.runner.declare import topology
from tunbench.runner.declare.failures import StackFailed
from tunbench.runner.declare.topology import CONTROL
from tunbench.runner.declare.tunnel import Claims
from tunbench.runner.network import underlay
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result
from tunbench.runner.tunnel import Tunnel
from tunbench.runner.tunnels import easytier, wesher


def built(spelling: str) -> Tunnel:
    under = underlay.of("ip", roles=stack.roles(spelling))
    [layer] = stack.build(spelling, under.endpoints, beside=under.roles).layers
    return layer


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


@pytest.mark.parametrize(
    ("spelling", "mtu"),
    [
        ("vpncloud", 1427),
        ("vpncloud:cipher=none", 1427),
        ("vpncloud:mtu=1300", 1300),
        ("wesher", 1420),
        ("innernet", 1280),
        ("innernet:mtu=1440", 1440),
        ("easytier", 1360),
        ("easytier:encryption=off", 1380),
        ("easytier:mtu=1400", 1400),
    ],
)
def test_the_mtu_is_the_programs_own(spelling: str, mtu: int) -> None:
    assert built(spelling).context.above["a"].mtu == mtu


@pytest.mark.parametrize(
    ("spelling", "packet", "size"),
    [
        # Captured on the router in the vm lab; the last of each is a packet as large as the MTU.
        ("vpncloud", 540, 593),
        ("vpncloud", 1427, 1480),
        ("wesher", 540, 604),
        ("wesher", 1420, 1480),
        ("innernet", 540, 604),
        ("innernet", 1280, 1340),
    ],
)
def test_sizes_are_those_on_the_wire(spelling: str, packet: int, size: int) -> None:
    layer = built(spelling)
    assert layer.format(layer.options, 4).size(packet, layer.context.above["a"].mtu) == size


@pytest.mark.parametrize(
    ("spelling", "claims"),
    [
        ("vpncloud:cipher=aes256", Claims(True, True, True)),
        ("vpncloud:cipher=none", Claims(False, False, False)),
        ("easytier", Claims(True, True, False)),
        ("easytier:encryption=off", Claims(False, False, False)),
    ],
)
def test_claims_follow_from_the_options(spelling: str, claims: Claims) -> None:
    assert built(spelling).declared.claims == claims


def test_the_mtu_of_wesher_is_no_option() -> None:
    with pytest.raises(ValueError, match="mtu"):
        built("wesher:mtu=1300")


def test_wesher_gives_addresses_by_names() -> None:
    # The program's own test has 10.221.153.165 for a network of 10.0.0.0/8 (wireguard_test.go).
    assert wesher.address(3, "test") == "10.13.153.165"
    largest = stack.build("wesher", underlay.of("ip", topology.read("mesh:nodes=250")).endpoints)
    assert len({overlay.cidr for overlay in largest.overlay.values()}) == 250


def test_names_of_wesher_with_the_same_address_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wesher, "address", lambda index, name: "10.10.1.1")
    with pytest.raises(ValueError, match="among 2 endpoints are two whose names give the same address"):
        stack.build("wesher", PAIR_UNDERLAYS["ip"].endpoints)


def test_who_forgets_innernet_is_invited_anew() -> None:
    shell, events = FakeShell(), FakeEvents()
    layer = built("innernet")
    nodes = [Node(CONTROL, shell, events, ["nsenter", "--"]), *two_nodes(shell, events)]
    layer.prepare({node.name: node for node in nodes})
    invited = [text for text in shell.texts if "add-peer" in text]
    for node in nodes:
        layer.forget(node)
    assert invited
    assert [text for text in shell.texts if "add-peer" in text] == 2 * invited
    assert [call.argv[-1].rpartition("/")[2] for call in shell.calls[-2:]] == 2 * ["innernet-0-client"]


@pytest.mark.parametrize("spelling", ["vpncloud", "wesher", "innernet", "easytier"])
def test_an_endpoint_without_its_peers_is_told(spelling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 5))
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    shell = FakeShell({"for peer": Result(1, "", "")})
    layer = built(spelling)
    names = (*layer.context.roles, "a", "b")
    nodes = {name: Node(name, shell, FakeEvents(), ["nsenter", "--"]) for name in names}
    layer.prepare(nodes)
    with pytest.raises(StackFailed, match=f"{spelling}: a .* within [345]0 s"):
        for node in nodes.values():
            layer.up(node, nodes)
        layer.joined(nodes)


def test_the_log_of_easytier_has_no_secret(tmp_path: Path) -> None:
    # It prints its configuration as it starts.
    for name, text in {"mount": "#!/bin/sh\n", "easytier-core": '#!/bin/sh\ncat "$2"\n'}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    config = tmp_path / "toml"
    config.write_text('network_name = "lab"\nnetwork_secret = "0123"\nmtu = 1380\n')
    done = subprocess.run(
        ["sh", "-c", easytier.RUN, "names", str(config)],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == 'network_name = "lab"\nmtu = 1380\n'
