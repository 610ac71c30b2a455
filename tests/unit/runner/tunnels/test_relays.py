"""Relays of tunnels that find another path by themselves: who is told of them, and how long a direct path is sought."""

import re
from pathlib import Path

import pytest

from tests.helpers.fakes import Answer, FakeEvents, FakeShell, move_home
from tunbench.plan.axes.stack import parse
from tunbench.runner import stack
from tunbench.runner.declare.topology import CONTROL, RELAY
from tunbench.runner.network import links, underlay
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result
from tunbench.runner.tunnels.zerotier import tcp_proxy

MESHES = ["nebula", "easytier", "tinc", "yggdrasil"]
"""Those that have a relay of their own beside an endpoint that they know."""

NOT_YET = Result(1, "", "")


class Built:
    """A layer between two endpoints, and its nodes, whose commands are answered."""

    def __init__(self, spelling: str, answers: dict[str, Answer] | None = None) -> None:
        self.events, self.shell = FakeEvents(), FakeShell(answers or {})
        under = underlay.of("ip", roles=stack.roles(spelling), of_global_scope=stack.of_global_scope(spelling))
        [self.layer] = stack.build(spelling, under.endpoints, beside=under.roles).layers
        names = [*under.roles, *under.endpoints]
        self.nodes = {name: Node(name, self.shell, self.events, ["nsenter", "--"]) for name in names}

    def searched(self) -> list[str]:
        """The commands that a search runs."""
        self.layer.prepare(self.nodes)
        before = len(self.events.commands)
        self.layer.searched(self.nodes)
        return self.events.commands[before:]


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


@pytest.fixture
def skipping(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time passes, and nobody waits."""
    clock = iter(range(0, 10_000, 5))
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    monkeypatch.setattr("time.sleep", lambda seconds: None)


@pytest.mark.parametrize("name", MESHES)
def test_a_relay_is_a_node_that_any_path_may_lead_through(name: str) -> None:
    bare, relayed, forced = (parse(f"{name}{options}") for options in ("", ":relay=on", ":path=relay"))
    assert RELAY not in bare.roles and RELAY in relayed.roles and RELAY in forced.roles
    assert set(bare.abouts[0].paths) == {"direct"}
    assert set(relayed.abouts[0].paths) >= {"direct", "relay"}
    assert relayed.abouts[0].paths["relay"].through == RELAY


@pytest.mark.parametrize("name", MESHES)
def test_a_relay_that_nothing_may_go_through_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name}: relay=on with path=direct is a relay that carries nothing"):
        parse(f"{name}:relay=on,path=direct").abouts  # noqa: B018 the options are read here


def hop(line: str) -> tuple[str, str, str]:
    """The size that tinc is asked about in a line of the journal, the peer, and the address that is pinged."""
    found = re.search(r"\.log (\d+) \S+ (\w+)=(\S*)", line)
    assert found, line
    return found[1], found[2], found[3]


@pytest.mark.usefixtures("skipping")
def test_tinc_looks_for_a_direct_path_and_else_for_one_by_udp_to_the_relay() -> None:
    found = Built("tinc:relay=on").searched()
    # Any size at first, and then the full one, each way.
    assert [hop(line) for line in found if "settled" in line] == [
        ("1", "b", "10.10.0.2"), ("1451", "b", "10.10.0.2"), ("1", "a", "10.10.0.1"), ("1451", "a", "10.10.0.1")
    ]  # fmt: skip
    lost = Built("tinc:relay=on", {"settled": NOT_YET}).searched()
    tried = [hop(line) for line in lost if "settled" in line]
    assert {frame for frame, *_ in tried} == {"1"}
    assert [peer for _, peer, _ in tried] == ["b", "a", RELAY, RELAY, "a", "b"]


@pytest.mark.parametrize("spelling", ["tinc", "tinc:path=relay", "tinc:path=relay-tcp"])
def test_tinc_looks_for_no_other_path_than_the_one_that_is_there(spelling: str) -> None:
    assert Built(spelling).searched() == []


def test_tinc_by_tcp_is_encrypted_whatever_its_packets_are() -> None:
    by_tcp, by_udp = (parse(f"tinc:cipher=none,{path}").abouts[0].claims for path in ("path=relay-tcp", "relay=on"))
    assert by_tcp.confidentiality and not by_udp.confidentiality


def test_tinc_promises_no_integrity_where_the_proof_takes_tcp_for_good() -> None:
    def promised(spelling: str) -> tuple[bool, bool]:
        return parse(spelling).abouts[0].claims[1:]

    assert promised("tinc") == promised("tinc:path=relay") == (True, True)
    assert promised("tinc:path=relay-tcp") == promised("tinc:relay=on") == (False, False)


@pytest.mark.usefixtures("skipping")
def test_easytier_looks_for_direct_paths_where_it_has_a_relay_besides() -> None:
    assert [line.rpartition("' ")[2] for line in Built("easytier:relay=on").searched()] == [
        "p2p 10.10.0.2 >/dev/null 2>&1; do sleep 0.02; done",
        "p2p 10.10.0.1 >/dev/null 2>&1; do sleep 0.02; done",
    ]
    assert Built("easytier").searched() == Built("easytier:path=relay").searched() == []


@pytest.mark.parametrize(
    ("spelling", "told"),
    [
        ("easytier:relay=on", {"a": ["10.0.251.2"], "b": ["10.0.251.2", "10.0.1.2"], RELAY: []}),
        ("easytier:path=relay", {"a": ["10.0.251.2"], "b": ["10.0.251.2"], RELAY: []}),
        ("yggdrasil:relay=on", {"a": ["10.0.251.2"], "b": ["10.0.251.2", "10.0.1.2"], RELAY: []}),
        ("yggdrasil:path=relay", {"a": ["10.0.251.2"], "b": ["10.0.251.2"], RELAY: []}),
    ],
)
def test_endpoints_are_told_of_a_relay_and_of_each_other_unless_all_must_go_through_it(
    spelling: str, told: dict[str, list[str]]
) -> None:
    built = Built(spelling)
    built.layer.prepare(built.nodes)
    texts = {one["path"].split("/")[-2]: one["text"] for one in built.events.of("file") if "://" in one["text"]}
    asked = {
        name: [
            part.split(":")[0]
            for line in texts[name].splitlines()
            if "isten" not in line
            for part in line.split("://")[1:]
        ]
        for name in told
    }
    assert asked == told


@pytest.mark.parametrize(
    ("spelling", "more"),
    [
        ("yggdrasil:path=relay", 0),
        ("tinc:path=relay", 0),
        # TCP with timestamps, TLS and DERP in the place of UDP.
        ("headscale:path=derp", 32 + 22 + 37 - 8),
        ("netbird:path=turn", 4),
        ("netbird:path=relay-quic", 22 + 38),
        ("netbird:path=relay-ws", 32 + 22 + 4 + 38 - 8),
    ],
)
def test_a_packet_from_a_relay_has_the_headers_of_that_path(spelling: str, more: int) -> None:
    direct, relayed = (
        sum(header.size for header in parse(text).abouts[0].headers) for text in (spelling.partition(":")[0], spelling)
    )
    assert relayed - direct == more


def test_the_proxy_of_zerotier_is_brought_and_its_nodes_have_addresses_of_global_scope() -> None:
    direct, relayed = (parse(f"zerotier:path={path}") for path in ("direct", "relay-tcp"))
    assert direct.needs[0].brought == ("zerotier-one",)
    assert relayed.needs[0].brought == ("zerotier-one", "tcp-proxy")
    assert (direct.roles, relayed.roles) == ([CONTROL], [CONTROL, RELAY])
    assert not stack.of_global_scope("zerotier") and stack.of_global_scope("zerotier:path=relay-tcp")
    built = Built("zerotier:path=relay-tcp")
    assert {built.layer.context.below[name].address for name in "ab"} == {"12.0.1.2", "12.0.2.2"}
    assert tcp_proxy.settings(built.layer)["tcpFallbackRelay"] == "12.0.251.2/443"
    assert relayed.abouts[0].paths["relay-tcp"] == tcp_proxy.PATHS["relay-tcp"]
    assert relayed.abouts[0].paths["relay-tcp"].evidence == "tcp port 443"


def test_the_end_of_the_world_finds_the_way_back_to_addresses_of_global_scope() -> None:
    under = underlay.of("ip", of_global_scope=True)
    shell, events = FakeShell(), FakeEvents()
    links.build(under, {name: Node(name, shell, events, ["nsenter", "--"]) for name in [*under.names, "lab"]})
    assert "route add 12.0.0.0/16 via 12.0.255.1" in "\n".join(events.commands)
