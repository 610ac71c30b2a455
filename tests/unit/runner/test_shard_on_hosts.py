"""A shard on hosts that are there already: what a lab of real hosts hands over in place of namespaces and links.

The hosts share the folder in which nodes keep their files; what cannot be done without that is expected to fail.
"""

import os
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from errno import ENOENT
from pathlib import Path

import pytest

from tests.helpers.fakes import MARKER, FakeEvents, FakeLabShell, interface, move_home, shard
from tunbench.runner.declare.access import Accesses
from tunbench.runner.declare.link import Link
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.declare.topology import Topology
from tunbench.runner.network.network import Nodes
from tunbench.runner.network.underlay import Interface, Underlay
from tunbench.runner.node.events import Events
from tunbench.runner.node.node import Node
from tunbench.runner.shard import live

PING = "ping:count=5,interval=0.01"

ADDRESSES = {"a": "10.0.1.2", "b": "10.0.2.2"}


class Hosts:
    """Two hosts, each with a shell of its own; between them is a network that nobody here makes or sees."""

    def __init__(self, shells: Mapping[str, FakeLabShell]) -> None:
        self.shells = shells

    def lay_out(
        self,
        kind: str,
        topology: Topology,
        link: Link,
        roles: Collection[str],
        accesses: Accesses,
        of_global_scope: bool = False,
    ) -> Underlay:
        endpoints = {name: Overlay("enp1s0", ADDRESSES[name], 24, link.mtu, 14) for name in topology.endpoints}
        towards = {name: Interface(name, "enp1s0") for name in endpoints}
        return Underlay(kind, "", endpoints, towards, "", topology)

    def nodes(self, underlay: Underlay, events: Events) -> AbstractContextManager[Nodes]:
        return nullcontext({name: Node(name, self.shells[name], events) for name in underlay.endpoints})

    def connect(self, underlay: Underlay, nodes: Nodes, events: Events) -> None:
        return

    def connect_hosts(self, underlay: Underlay, overlay: Mapping[str, Overlay], nodes: Nodes) -> None:
        return

    def watched(self, nodes: Nodes, events: Events) -> AbstractContextManager[None]:
        return nullcontext()


class OwnFilesShell(FakeLabShell):
    """The shell of a host that has the files of its own node, and of no other."""

    def __init__(self, home: Path, proof: str, name: str) -> None:
        super().__init__(home, proof)
        self.others = [home / other for other in ADDRESSES if other != name]

    def read_bytes(self, path: str, most: int | None = None) -> bytes:
        if any(Path(path).is_relative_to(other) for other in self.others):
            raise FileNotFoundError(ENOENT, "another host has it", path)
        return super().read_bytes(path, most)


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(os, "urandom", lambda size: MARKER[:size])
    return move_home(monkeypatch, tmp_path)


@pytest.mark.parametrize("name", ["none", "wireguard", "vxlan"])
def test_a_shard_lives_on_hosts_that_are_there(name: str, home: Path) -> None:
    shells = {host: FakeLabShell(home, f"proof-{name}.pcap") for host in ADDRESSES}
    events = FakeEvents()
    live(shard(name, 1, PING).spec(), Hosts(shells), events)
    assert [(one["verdict"], one["reason"]) for one in events.of("trial")] == [("ok", "")] * 2
    [proof] = events.of("proof")
    assert [(one["layer"], one["where"]) for one in proof["findings"]] == [(name, "b/enp1s0")]
    assert all(process.ended for shell in shells.values() for process in shell.started), "nothing is left running"


def test_each_host_runs_its_own_commands_as_a_person_there_would_type_them(home: Path) -> None:
    shells = {host: FakeLabShell(home, "proof-vxlan.pcap") for host in ADDRESSES}
    events = FakeEvents()
    live(shard("vxlan", 1, PING).spec(), Hosts(shells), events)
    for host, shell in shells.items():
        made = [text for text in shell.texts if f"link add {interface('vxlan')}" in text]
        assert len(made) == 1 and f"local {ADDRESSES[host]}" in made[0]
        assert made[0] in [one["shell"] for one in events.of("command") if one["node"] == host]
    assert not any("netns" in text for text in events.commands)


@pytest.mark.parametrize(
    "name",
    [
        *("none", "vxlan"),
        pytest.param(
            "wireguard", marks=pytest.mark.xfail(reason="a peer's public key is read from its own folder", strict=True)
        ),
    ],
)
def test_a_host_has_files_of_its_own(name: str, home: Path) -> None:
    shells = {host: OwnFilesShell(home, f"proof-{name}.pcap", host) for host in ADDRESSES}
    events = FakeEvents()
    live(shard(name, 1, PING).spec(), Hosts(shells), events)
    assert [one["verdict"] for one in events.of("trial")] == ["ok"] * 2
