import base64
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.helpers.fakes import CAPTURED, FILTERS, MARKER, FakeEvents, FakeLabShell, interface, move_home, packets_in
from tunbench.runner import stack
from tunbench.runner.declare.failures import ProofFailed
from tunbench.runner.declare.topology import PAIR
from tunbench.runner.network.underlay import PAIR_UNDERLAYS
from tunbench.runner.node.node import Node
from tunbench.runner.proof import claims, proof
from tunbench.runner.proof.proof import Claim, Finding, Seen, examine
from tunbench.runner.site import Site

WHERE = "router/to-b"


def seen(name: str) -> list[bytes]:
    """What was captured while a real tunnel carried five echoes with the marker, and their replies."""
    return packets_in(CAPTURED / f"proof-{name}.pcap")


def claims_of(spelling: str, nodes: Mapping[str, Node] = MappingProxyType({})) -> list[Claim]:
    """What a stack between two endpoints claims."""
    site = Site(nodes, PAIR_UNDERLAYS["ip"], stack.build(spelling, PAIR_UNDERLAYS["ip"].endpoints))
    return claims.of_stack(site, PAIR.pairs[0])


def examined(spelling: str, packets: list[bytes], index: int = 0) -> Finding:
    claim = claims_of(spelling)[index]
    evident = [packet for packet in packets if FILTERS[claim.evidence](packet)]
    return examine(claim, MARKER, Seen(WHERE, packets, evident))


def test_wireguard_hides_the_marker() -> None:
    finding = examined("wireguard", seen("wireguard"))
    assert finding == Finding("wireguard", WHERE, "udp port 51820 and udp[8:4] = 0x04000000", 10, 10, 0, True)


def test_vxlan_shows_the_marker() -> None:
    finding = examined("vxlan", seen("vxlan"))
    assert (finding.packets, finding.evident, finding.marked, finding.hidden) == (10, 10, 10, False)


def test_no_tunnel_shows_the_marker() -> None:
    finding = examined("none", seen("none"))
    assert (finding.packets, finding.evident, finding.marked, finding.hidden) == (10, 10, 10, False)


def test_small_packets_of_others_are_no_matter() -> None:
    arp = b"\xff" * 12 + b"\x08\x06" + bytes(28)
    assert examined("wireguard", [arp, *seen("wireguard")]).packets == 10


@pytest.mark.parametrize("kept", [0, 4])
def test_too_few_packets_are_no_proof(kept: int) -> None:
    message = rf"wireguard: {kept} packets on router/to-b show its evidence \(udp port 51820 .*\); 10 were to be seen"
    with pytest.raises(ProofFailed, match=message):
        examined("wireguard", seen("wireguard")[:kept])


def test_every_echo_and_every_reply_must_be_seen() -> None:
    assert examined("wireguard", seen("wireguard")).evident == 10
    with pytest.raises(ProofFailed, match=r"9 packets on router/to-b show its evidence .*; 10 were to be seen"):
        examined("wireguard", [packet for packet in seen("wireguard") if len(packet) > 512][:9])


def test_traffic_that_goes_around_the_tunnel_is_noticed() -> None:
    with pytest.raises(ProofFailed, match="wireguard: 0 packets"):
        examined("wireguard", seen("none"))
    with pytest.raises(ProofFailed, match="wireguard: 10 packets on router/to-b went around it"):
        examined("wireguard", seen("wireguard") + seen("none"))
    with pytest.raises(ProofFailed, match="vxlan: 1 packets on router/to-b went around it"):
        examined("vxlan", [*seen("vxlan"), seen("none")[0]])


def test_packets_of_other_nodes_neither_go_around_nor_stand_for_those_that_are_missing() -> None:
    [claim] = claims_of("wireguard")
    packets = [packet for packet in seen("wireguard") if len(packet) > 512]

    def found(evident: list[bytes], beside: list[bytes]) -> Finding:
        return examine(claim, MARKER, Seen(WHERE, evident + beside, evident, beside))

    assert found(packets, packets[:2])[3:6] == (10, 10, 0)
    with pytest.raises(ProofFailed, match="8 packets on router/to-b show its evidence"):
        found(packets[:8], packets[8:])


def test_a_secret_that_can_be_read_is_noticed() -> None:
    readable = [packet[:60] + MARKER + packet[76:] for packet in seen("wireguard")[:3]]
    with pytest.raises(ProofFailed, match="the marker can be read on router/to-b in 3 packets, though it is claimed"):
        examined("wireguard", readable + seen("wireguard")[3:])


def test_a_secret_that_can_be_read_in_a_small_packet_is_noticed() -> None:
    with pytest.raises(ProofFailed, match="the marker can be read on router/to-b in 1 packets"):
        examined("wireguard", [*seen("wireguard"), b"\0" * 60 + MARKER])


def test_a_marker_that_is_not_there_is_noticed() -> None:
    without = [packet.replace(MARKER, bytes(16)) for packet in seen("vxlan")]
    with pytest.raises(ProofFailed, match="vxlan: the marker is not to be found in the packets on router/to-b"):
        examined("vxlan", without)


def test_what_is_above_hides_the_marker_and_what_is_below_does_not() -> None:
    secret_above = [packet.replace(MARKER, bytes(16)) for packet in seen("vxlan")]
    assert examined("vxlan+wireguard", secret_above).hidden
    with pytest.raises(ProofFailed, match="can be read"):
        examined("vxlan+wireguard", seen("vxlan"))
    assert not examined("wireguard+vxlan", seen("vxlan"), index=1).hidden


@pytest.mark.parametrize(
    ("spelling", "captures"),
    [
        ("vxlan", [("router", "to-b", "proof-0")]),
        ("vxlan+vxlan:vni=7", [("router", "to-b", "proof-0"), ("a", interface("vxlan"), "proof-1")]),
    ],
)
def test_a_marker_is_sent_and_looked_for_below_every_layer(
    spelling: str, captures: list[tuple[str, str, str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = move_home(monkeypatch, tmp_path)
    monkeypatch.setattr(os, "urandom", lambda size: MARKER[:size])
    shell, events = FakeLabShell(home, "proof-vxlan.pcap"), FakeEvents()
    nodes = {name: Node(name, shell, events, ["nsenter", "--"]) for name in ("a", "b", "router")}
    built = stack.build(spelling, PAIR_UNDERLAYS["ip"].endpoints)
    target = built.overlay["b"].address
    findings = proof.prove(claims_of(spelling, nodes), nodes["a"], target, FakeEvents())
    assert [finding.where for finding in findings] == [f"{name}/{where}" for name, where, _ in captures]
    sent = [text for text in shell.texts if "-I -S -" in text]
    assert len(sent) == len(captures)
    assert all(text.endswith(f"{target} {proof.payload(MARKER).hex()} 5") for text in sent)
    assert not any("-I -S -" in text for text in events.commands), "nobody needs the proof to repeat a trial"
    for name, where, file in captures:
        assert any(f"exec {name} tcpdump -i {where} " in text and f"{file}.pcap" in text for text in events.commands)


def test_markers_are_random(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = move_home(monkeypatch, tmp_path)
    shell, events = FakeLabShell(home, "proof-none.pcap"), FakeEvents()
    nodes = {name: Node(name, shell, events, ["nsenter", "--"]) for name in ("a", "b", "router")}
    for _ in range(2):
        with pytest.raises(ProofFailed, match="the marker is not to be found"):
            proof.prove(claims_of("none", nodes), nodes["a"], "10.0.2.2", FakeEvents())
    assert len({text for text in shell.texts if "-I -S -" in text}) == 2


def test_the_captures_are_told_for_every_layer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home = move_home(monkeypatch, tmp_path)
    monkeypatch.setattr(os, "urandom", lambda size: MARKER[:size])
    shell, events = FakeLabShell(home, "proof-vxlan.pcap"), FakeEvents()
    nodes = {name: Node(name, shell, FakeEvents(), ["nsenter", "--"]) for name in ("a", "b", "router")}
    proof.prove(claims_of("vxlan+vxlan:vni=7", nodes), nodes["a"], "10.11.0.2", events)
    assert [one["name"] for one in events.of("capture")] == ["proof-0.pcap", "proof-1.pcap"]
    for one in events.of("capture"):
        assert zlib.decompress(base64.b64decode(one["pcap"])) == (CAPTURED / "proof-vxlan.pcap").read_bytes()
