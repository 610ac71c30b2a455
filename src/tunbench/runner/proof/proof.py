"""Proof that traffic is encapsulated, and encrypted where that is claimed, before anything is timed.

A random marker is sent through the overlay as the payload of echo requests, and comes back in the replies. Below each
layer a capture must show it: every packet that can hold the marker passes the filter of that layer's evidence, and the
marker itself is to be found there, or, where this layer or one above it claims confidentiality, nowhere at all.

Where packets of a layer may take several paths, one of them must show all of them, and is told. Of one that leads
through another node, a second capture shows that this node carries them, and that no packet on its wire shows the
marker.
"""

import base64
import hashlib
import os
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tunbench.runner.declare.failures import ProofFailed
from tunbench.runner.declare.path import MIXED
from tunbench.runner.node import python
from tunbench.runner.node.events import Events
from tunbench.runner.node.node import Node
from tunbench.runner.proof import capture, echo
from tunbench.runner.proof.capture import View

ECHOES = 5

ALL_ECHOES = 2 * ECHOES
"""Packets that are to be seen unless something on the way loses some: all requests and replies."""

MARKER_SIZE = 16
"""Bytes of the marker with which the payload of each echo begins."""

PAYLOAD = 512
"""Bytes of payload in each echo: packets that carry it stand out by their size."""

SETTLING = 2.0
"""Seconds between two looks where they did."""

ATTEMPTS = 3
"""How often the marker is sent at most where any path will do: that may change meanwhile."""


class Claim(NamedTuple):
    """What a stack claims of the packets below a layer, and the view of where they pass.

    `evidence` is the pcap filter that every packet of the layer passes; `beside` is that of what else may pass there,
    empty where there is nothing. The marker is `hidden` where this layer or one above it claims confidentiality. `path`
    names the way of the packets, and `relay` is the view of the node that carries them. What may be true `instead` are
    claims of other paths in the same view.
    """

    layer: str
    view: View
    evidence: str
    beside: str
    hidden: bool
    path: str = ""
    through: str = ""
    relay: View | None = None
    instead: tuple["Claim", ...] = ()


class Seen(NamedTuple):
    """What was captured below a layer: all packets, those that show its evidence, and those that may pass besides."""

    where: str
    packets: Sequence[bytes]
    evident: Sequence[bytes]
    beside: Sequence[bytes] = ()


class Finding(NamedTuple):
    """What the capture below one layer showed."""

    layer: str
    where: str
    evidence: str
    packets: int
    evident: int
    marked: int
    hidden: bool
    path: str = ""
    through: str = ""


def prove(
    claims: Sequence[Claim], client: Node, target: str, events: Events, prefix: str = "", least: int = ALL_ECHOES
) -> list[Finding]:
    """Sends a marker from the client to an address, looks for it below every layer, and tells what was captured.

    The names of captures begin with the `prefix`. Raises ProofFailed, also where fewer than `least` packets are seen.
    """
    marker = os.urandom(MARKER_SIZE)
    return [
        finding
        for index, claim in enumerate(claims)
        for finding in _find(claim, _Probe(client, target, marker, f"{prefix}proof-{index}", events), least)
    ]


class _Probe(NamedTuple):
    """Who sends the marker whither, and the name of the capture of it."""

    client: Node
    target: str
    marker: bytes
    name: str
    events: Events


class _Mixed(ProofFailed):
    """Packets took several paths; `finding` is of all of them together, and `relayed` are the claims of relays."""

    def __init__(self, finding: Finding, relayed: Sequence[Claim]) -> None:
        super().__init__(f"{finding.layer}: packets on {finding.where} took several paths")
        self.finding = finding
        self.relayed = relayed


class _Readable(ProofFailed):
    """The marker can be read where it is claimed secret, whichever path it took."""


def _find(claim: Claim, probe: _Probe, least: int) -> list[Finding]:
    """What captures show of the claim, or of one that may be true instead. Raises ProofFailed."""
    claims = [claim, *claim.instead]
    for attempt in range(1, (ATTEMPTS if claim.instead else 1) + 1):
        again = probe if attempt == 1 else probe._replace(name=f"{probe.name}-{attempt}")
        try:
            return _look(claims, again, least)
        except _Readable:
            raise
        except _Mixed as mixed:
            if attempt == ATTEMPTS:
                return [mixed.finding, *_at_relays(mixed.relayed, again)]
            # Whoever has just come back may still be on the way to the path that it goes on with.
            probe.client.run("sleep", f"{SETTLING:g}")
        except ProofFailed:
            if attempt == ATTEMPTS or not claim.instead:
                raise
    raise AssertionError("the last attempt returns or raises")


def _look(claims: Sequence[Claim], probe: _Probe, least: int) -> list[Finding]:
    """What the capture below a layer shows, and that at the relay where the packets went through one."""
    seen = _send(claims, probe)
    best = max(range(len(claims)), key=lambda number: _count_echoes(seen[number].evident))
    if len(claims) > 1:
        _check_secret(claims[best], probe.marker, seen[best])
        if least < ALL_ECHOES:
            _check_one_path(claims, seen, best, least, probe.marker)
    found, claim = [examine(claims[best], probe.marker, seen[best], least)], claims[best]
    if claim.relay:
        at_relay, carried = _look_at_relay(claim, claim.relay, probe)
        found.append(examine(at_relay, probe.marker, carried, least))
    return found


def _look_at_relay(claim: Claim, relay: View, probe: _Probe) -> tuple[Claim, Seen]:
    """What a relay carries, which must hide the marker, and what is claimed of that. Raises ProofFailed."""
    # The other end may talk to it by another protocol, and it speaks when it likes: all of it hides the marker.
    at_relay = claim._replace(view=relay, beside=f"not ({claim.evidence})", hidden=True)
    [carried] = _send([at_relay], probe._replace(name=f"{probe.name}-relay"))
    _check_secret(at_relay, probe.marker, carried)
    return at_relay, carried


def _at_relays(claims: Sequence[Claim], probe: _Probe) -> Iterator[Finding]:
    """What relays carry where packets take several paths: nobody knows how many will come. Raises ProofFailed."""
    for number, claim in enumerate(claims):
        assert claim.relay
        one = probe._replace(name=f"{probe.name}-{number}") if number else probe
        at_relay, carried = _look_at_relay(claim, claim.relay, one)
        passed, evident = (_count_echoes(some) for some in (carried.packets, carried.evident))
        marked = _count_marked(carried.packets, probe.marker)
        yield Finding(claim.layer, carried.where, at_relay.evidence, passed, evident, marked, True)


def _check_one_path(claims: Sequence[Claim], seen: Sequence[Seen], best: int, least: int, marker: bytes) -> None:
    """Raises _Mixed where some packets took another path than most, and ProofFailed where some took none of them."""
    counts = [_count_echoes(one.evident) for one in seen]
    if not 0 < counts[best] < sum(counts) or counts[best] >= ALL_ECHOES:
        return
    claim, where = claims[best], seen[best].where
    sums = list(zip(claims, seen, counts, strict=True))
    direct = sum(count for one, _, count in sums if not one.through)
    # All that nodes with a role send and are sent: what is evident of one of them, and what is besides. A direct claim
    # lets pass more than that.
    of_roles = min(_count_echoes(some.beside) + (count if one.through else 0) for one, some, count in sums)
    around = _count_echoes(seen[best].packets) - direct - of_roles
    if around > 0 or sum(counts) < least:
        raise ProofFailed(f"{claim.layer}: {max(around, 0)} packets on {where} took none of its paths")
    evidence, marked = " or ".join(one.evidence for one in claims), _count_marked(seen[best].packets, marker)
    finding = Finding(claim.layer, where, evidence, sum(counts), sum(counts), marked, claim.hidden, MIXED)
    raise _Mixed(finding, [one for one, _, count in sums if one.relay and count])


def _send(claims: Sequence[Claim], probe: _Probe) -> list[Seen]:
    """Captures in the view of claims while the marker passes, and says what each of them may take for its own."""
    with claims[0].view() as (watcher, interface):
        path = watcher.home / f"{probe.name}.pcap"
        with capture.capturing(watcher, interface, path):
            words = (probe.target, payload(probe.marker).hex(), str(ECHOES))
            probe.client.ask(*probe.client.python, "-", *words, text=python.source(echo))
    pcap = base64.b64encode(zlib.compress(watcher.read_bytes(path))).decode()
    probe.events.tell("capture", name=path.name, pcap=pcap)
    return [
        Seen(
            f"{watcher.name}/{interface}",
            capture.packets(watcher, path),
            capture.filtered(watcher, path, claim.evidence),
            capture.filtered(watcher, path, claim.beside) if claim.beside else [],
        )
        for claim in claims
    ]


def payload(marker: bytes) -> bytes:
    """The marker, and behind it what follows from it and looks random: no tunnel that compresses makes it smaller."""
    return marker + hashlib.shake_256(marker).digest(PAYLOAD - len(marker))


def examine(claim: Claim, marker: bytes, seen: Seen, least: int = ALL_ECHOES) -> Finding:
    """Compares what was captured below a layer with what the stack claims. Raises ProofFailed.

    A packet that went through another node is among those besides, and is missing among those that are evident.
    """
    name, where, evidence = claim.layer, seen.where, claim.evidence
    passed = _count_echoes(seen.packets) - _count_echoes(seen.beside)
    evident = _count_echoes(seen.evident)
    marked = _count_marked(seen.packets, marker)
    if evident < least:
        raise ProofFailed(
            f"{name}: {evident} packets on {where} show its evidence ({evidence}); {least} were to be seen"
        )
    if (around := passed - evident) > 0:
        raise ProofFailed(f"{name}: {around} packets on {where} went around it ({evidence})")
    _check_secret(claim, marker, seen)
    if not claim.hidden and not any(marker in packet for packet in seen.evident):
        raise ProofFailed(f"{name}: the marker is not to be found in the packets on {where} that show its evidence")
    return Finding(name, where, evidence, passed, evident, marked, claim.hidden, claim.path, claim.through)


def _check_secret(claim: Claim, marker: bytes, seen: Seen) -> None:
    marked = _count_marked(seen.packets, marker)
    if claim.hidden and marked:
        what = f"the marker can be read on {seen.where} in {marked} packets, though it is claimed secret"
        raise _Readable(f"{claim.layer}: {what}")


def _count_marked(packets: Sequence[bytes], marker: bytes) -> int:
    """How many packets show the marker."""
    return sum(marker in packet for packet in packets)


def _count_echoes(packets: Sequence[bytes]) -> int:
    """How many packets are large enough to hold the marker's payload."""
    return sum(len(packet) >= PAYLOAD for packet in packets)
