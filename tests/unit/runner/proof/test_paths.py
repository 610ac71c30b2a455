"""Which ways packets of a layer may take, and how the proof finds out and tells which one it was."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.helpers import fakes
from tests.helpers.fakes import MARKER, FakeEvents, FakeLabShell, move_home
from tunbench.runner import stack
from tunbench.runner.declare.failures import ProofFailed
from tunbench.runner.declare.topology import PAIR
from tunbench.runner.network import underlay
from tunbench.runner.node.node import Node
from tunbench.runner.proof import claims, proof
from tunbench.runner.proof.claims import Way
from tunbench.runner.proof.proof import Finding
from tunbench.runner.site import Site

PAIR_AB = PAIR.pairs[0]

DIRECT = "udp port 4242 and udp[8:2] = 0x1100 and host 10.0.1.2 and host 10.0.2.2"
RELAYED = "udp port 4242 and udp[8:2] = 0x1101 and host 10.0.251.2"


def site_of(spelling: str, nodes: dict[str, Node] | None = None) -> Site:
    under = underlay.of("ip6" if "ipv6" in spelling else "ip", roles=stack.roles(spelling))
    built = stack.build(spelling, under.endpoints, under.topology, under.roles)
    return Site(nodes or {}, under, built)


def ways(spelling: str) -> list[Way]:
    return claims.ways(site_of(spelling).stack.layers[0], PAIR_AB)


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("nebula", [Way(DIRECT, "direct")]),
        ("nebula:path=relay", [Way(RELAYED, "relay", "relay")]),
        ("nebula:relay=on", [Way(DIRECT, "direct"), Way(RELAYED, "relay", "relay")]),
        (
            "nebula:path=relay,outer=ipv6",
            [Way("udp port 4242 and ip6[48:2] = 0x1101 and host fd00:0:0:fb::2", "relay", "relay")],
        ),
        ("headscale:path=derp", [Way("tcp port 443 and host 10.0.252.2", "derp", "control")]),
        ("headscale:path=derp,derp=own", [Way("tcp port 443 and host 10.0.251.2", "derp", "relay")]),
        ("netbird:path=turn", [Way("udp and host 10.0.251.2", "turn", "relay")]),
        ("netbird:path=relay-ws", [Way("tcp port 33080 and host 10.0.252.2", "relay-ws", "control")]),
        ("wireguard", [Way("udp port 51820 and udp[8:4] = 0x04000000")]),
    ],
)
def test_a_path_has_a_filter_of_its_own(spelling: str, expected: list[Way]) -> None:
    assert ways(spelling) == expected


def test_any_path_but_the_one_that_must_be_asked_for_may_be_found() -> None:
    assert [way.path for way in ways("netbird")] == ["direct", "relay-quic", "relay-ws"]


def test_what_goes_past_a_demanded_relay_is_not_let_pass_as_other_traffic() -> None:
    [layer] = site_of("nebula:path=relay").stack.layers
    [way] = claims.ways(layer, PAIR_AB)
    assert claims.other_traffic(layer, way) == (f"((host 10.0.252.2) or (host 10.0.251.2)) and not ({RELAYED})")


def proven(spelling: str, shown: Sequence[str], home: Path, monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    """What is found where the packets of WireGuard's capture pass these filters and no others."""
    monkeypatch.setattr(os, "urandom", lambda size: MARKER[:size])

    class Shown(dict):  # type: ignore[type-arg]
        def __missing__(self, expression: str) -> object:
            return lambda packet: expression in shown and len(packet) > 100

    monkeypatch.setattr(fakes, "FILTERS", Shown())
    shell, events = FakeLabShell(home, "proof-wireguard.pcap"), FakeEvents()
    names = ("a", "b", "router", "control", "relay")
    nodes = {name: Node(name, shell, events, ["nsenter", "--"]) for name in names}
    site = site_of(spelling, nodes)
    return proof.prove(claims.of_stack(site, PAIR_AB), nodes["a"], "10.10.0.2", events)


def test_a_relay_is_looked_at_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = proven("nebula:relay=on", [RELAYED], move_home(monkeypatch, tmp_path), monkeypatch)
    assert [(one.where, one.path, one.through, one.marked) for one in found] == [
        ("router/to-b", "relay", "relay", 0),
        ("relay/eth0", "relay", "relay", 0),
    ]


def test_a_direct_path_needs_no_second_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = proven("nebula:relay=on", [DIRECT], move_home(monkeypatch, tmp_path), monkeypatch)
    assert [(one.where, one.path, one.through) for one in found] == [("router/to-b", "direct", "")]


@pytest.mark.parametrize("demanded", ["relay", "direct"])
def test_another_path_than_the_demanded_one_fails(
    demanded: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = {"relay": DIRECT, "direct": RELAYED}[demanded]
    with pytest.raises(ProofFailed, match="nebula: 0 packets on router/to-b show its evidence"):
        proven(f"nebula:path={demanded}", [other], move_home(monkeypatch, tmp_path), monkeypatch)


def test_a_marker_that_can_be_read_once_is_not_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[object] = []
    secret = proof.Claim("nebula", lambda: None, "", "", hidden=True, path="direct")  # type: ignore[arg-type,return-value]
    claim = secret._replace(instead=(secret._replace(path="relay"),))
    other = bytes(proof.PAYLOAD)

    def send(claims: Sequence[proof.Claim], probe: object) -> list[proof.Seen]:
        packets = [other] * 9 + [MARKER + other] * (not sent)
        sent.append(probe)
        return [proof.Seen("router/to-b", packets, packets[: 9 + len(sent) // 2]) for _ in claims]

    monkeypatch.setattr(proof, "_send", send)
    monkeypatch.setattr(os, "urandom", lambda size: MARKER[:size])
    with pytest.raises(ProofFailed, match="the marker can be read on router/to-b in 1 packets"):
        proof.prove([claim], Node("a", FakeLabShell(tmp_path, ""), FakeEvents()), "10.10.0.2", FakeEvents())
    assert len(sent) == 1


def told_of_counts(
    monkeypatch: pytest.MonkeyPatch, home: Path, direct: list[int], relayed: list[int], stray: int = 0, least: int = 2
) -> list[str]:
    """The paths that a proof tells where so many packets of each attempt are direct, and so many relayed."""
    looks = iter(zip(direct, relayed, strict=True))
    claim = proof.Claim("nebula", lambda: None, "", "", hidden=True, path="direct")  # type: ignore[arg-type,return-value]
    packet = bytes(proof.PAYLOAD)

    def send(claims: Sequence[proof.Claim], probe: object) -> list[proof.Seen]:
        one, other = next(looks)
        packets = [packet] * (one + other + stray)
        beside = [[packet] * other, []]
        return [proof.Seen("router/to-b", packets, [packet] * n, beside[k]) for k, n in enumerate((one, other))]

    monkeypatch.setattr(proof, "_send", send)
    node = Node("a", FakeLabShell(home, ""), FakeEvents())
    claims_of = [claim._replace(instead=(claim._replace(path="relay", through="relay"),))]
    return [one.path for one in proof.prove(claims_of, node, "10.10.0.2", FakeEvents(), least=least)]


def test_a_path_that_settles_behind_a_restart_is_the_one_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told_of_counts(monkeypatch, tmp_path, [2, 10], [8, 0]) == ["direct"]
    assert told_of_counts(monkeypatch, tmp_path, [7], [0]) == ["direct"], "the profile lost some"


def test_packets_that_take_several_paths_again_and_again_are_told_as_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told_of_counts(monkeypatch, tmp_path, [2, 6, 3], [8, 4, 6]) == ["mixed"]
    with pytest.raises(ProofFailed, match="1 packets on router/to-b took none of its paths"):
        told_of_counts(monkeypatch, tmp_path, [2, 6, 3], [8, 4, 6], stray=1)
    with pytest.raises(ProofFailed):
        told_of_counts(monkeypatch, tmp_path, [2, 6, 3], [8, 4, 6], least=proof.ALL_ECHOES)


def mixed(
    monkeypatch: pytest.MonkeyPatch, home: Path, counts: Sequence[int], stray: int = 0, at_relay: bytes = b""
) -> tuple[list[Finding], list[str]]:
    """What is found where so many packets are direct and go through either relay, and what the captures are called."""
    monkeypatch.setattr(os, "urandom", lambda size: MARKER[:size])
    packet, names = bytes(proof.PAYLOAD), []
    first = proof.Claim("netbird", lambda: None, "udp", "", hidden=False, path="direct")  # type: ignore[arg-type,return-value]
    others = [first._replace(path=name, through=name, relay=first.view) for name in ("one", "two")]

    def send(claims: Sequence[proof.Claim], probe: proof._Probe) -> list[proof.Seen]:
        names.append(probe.name)
        if probe.name.endswith("-relay"):
            return [proof.Seen(f"{claims[0].through}/eth0", [packet + at_relay] * 4, [packet] * 3)]
        besides = [sum(counts[1:]), counts[2], counts[1]]
        packets = [packet + MARKER] * (sum(counts) + stray)
        return [
            proof.Seen("router/to-b", packets, [packet] * count, [packet] * beside)
            for count, beside in zip(counts, besides, strict=True)
        ]

    monkeypatch.setattr(proof, "_send", send)
    node = Node("a", FakeLabShell(home, ""), FakeEvents())
    return proof.prove([first._replace(instead=tuple(others))], node, "10.10.0.2", FakeEvents(), least=2), names


def test_where_packets_take_several_paths_each_relay_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, names = mixed(monkeypatch, tmp_path, [2, 5, 3])
    assert [(one.where, one.path, one.packets, one.evident, one.marked, one.hidden) for one in found] == [
        ("router/to-b", "mixed", 10, 10, 10, False),
        ("one/eth0", "", 4, 3, 0, True),
        ("two/eth0", "", 4, 3, 0, True),
    ]
    assert names[2:] == ["proof-0-3", "proof-0-3-relay", "proof-0-3-1-relay"]
    with pytest.raises(ProofFailed, match=r"the marker can be read on one/eth0 in 4 packets"):
        mixed(monkeypatch, tmp_path, [2, 5, 3], at_relay=MARKER)


def test_a_stray_packet_is_seen_beside_several_relays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProofFailed, match="1 packets on router/to-b took none of its paths"):
        mixed(monkeypatch, tmp_path, [2, 5, 3], stray=1)
