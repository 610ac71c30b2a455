"""Proof that traffic is encapsulated, and encrypted where that is claimed, before anything is timed.

A random marker is sent through the overlay as the payload of echo requests, and comes back in the replies. Below each
layer a capture must show it: every packet that can hold the marker passes the filter of that layer's evidence, and the
marker itself is to be found there, or, where this layer or one above it claims confidentiality, nowhere at all.
"""

import base64
import os
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from tunbench.runner.declare.failures import ProofFailed
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


class Claim(NamedTuple):
    """What a stack claims of the packets below a layer, and the view of where they pass.

    `evidence` is the pcap filter that every packet of the layer passes; `beside` is that of what else may pass there,
    empty where there is nothing. The marker is `hidden` where this layer or one above it claims confidentiality.
    """

    layer: str
    view: View
    evidence: str
    beside: str
    hidden: bool


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


def prove(
    claims: Sequence[Claim], client: Node, target: str, events: Events, prefix: str = "", least: int = ALL_ECHOES
) -> list[Finding]:
    """Sends a marker from the client to an address, looks for it below every layer, and tells what was captured.

    The names of captures begin with the `prefix`. Raises ProofFailed, also where fewer than `least` packets are seen.
    """
    marker = os.urandom(MARKER_SIZE)
    found = []
    for index, claim in enumerate(claims):
        seen = _send(claim, client, target, marker, f"proof-{index}.pcap", prefix, events)
        found.append(examine(claim, marker, seen, least))
    return found


def _send(claim: Claim, client: Node, target: str, marker: bytes, file: str, prefix: str, events: Events) -> Seen:
    """Captures below a layer while the marker passes."""
    with claim.view() as (watcher, interface):
        path = watcher.home / file
        with capture.capturing(watcher, interface, path):
            client.ask(*client.python, "-", target, marker.hex(), str(ECHOES), text=python.source(echo))
    pcap = base64.b64encode(zlib.compress(watcher.read_bytes(path))).decode()
    events.tell("capture", name=f"{prefix}{file}", pcap=pcap)
    evident = capture.filtered(watcher, path, claim.evidence)
    packets = capture.packets(watcher, path)
    beside = capture.filtered(watcher, path, claim.beside) if claim.beside else []
    return Seen(f"{watcher.name}/{interface}", packets, evident, beside)


def examine(claim: Claim, marker: bytes, seen: Seen, least: int = ALL_ECHOES) -> Finding:
    """Compares what was captured below a layer with what the stack claims. Raises ProofFailed.

    A packet that went through another node is among those besides, and is missing among those that are evident.
    """
    name, where, evidence = claim.layer, seen.where, claim.evidence
    passed = _count_echoes(seen.packets) - _count_echoes(seen.beside)
    evident = _count_echoes(seen.evident)
    marked = sum(marker in packet for packet in seen.packets)
    if evident < least:
        raise ProofFailed(
            f"{name}: {evident} packets on {where} show its evidence ({evidence}); {least} were to be seen"
        )
    if (around := passed - evident) > 0:
        raise ProofFailed(f"{name}: {around} packets on {where} went around it ({evidence})")
    if claim.hidden and marked:
        raise ProofFailed(f"{name}: the marker can be read on {where} in {marked} packets, though it is claimed secret")
    if not claim.hidden and not any(marker in packet for packet in seen.evident):
        raise ProofFailed(f"{name}: the marker is not to be found in the packets on {where} that show its evidence")
    return Finding(name, where, evidence, passed, evident, marked, claim.hidden)


def _count_echoes(packets: Sequence[bytes]) -> int:
    """How many packets are large enough to hold the marker's payload."""
    return sum(len(packet) >= echo.PAYLOAD for packet in packets)
