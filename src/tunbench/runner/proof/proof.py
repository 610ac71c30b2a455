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
from tunbench.runner.declare.topology import Pair
from tunbench.runner.node import python
from tunbench.runner.node.events import Events
from tunbench.runner.proof import capture, echo
from tunbench.runner.proof.vantage import view
from tunbench.runner.site import Site
from tunbench.runner.stack import Stack
from tunbench.runner.tunnel import Tunnel

ECHOES = 5
MARKER = 16
"""Bytes of the marker with which the payload of each echo begins."""


class Finding(NamedTuple):
    """What the capture below one layer showed."""

    layer: str
    where: str
    evidence: str
    packets: int
    evident: int
    marked: int
    hidden: bool


def prove(site: Site, pair: Pair, events: Events, least: int = 2 * ECHOES) -> list[Finding]:
    """Looks below every layer for a marker sent between a pair, and tells what was captured. Raises ProofFailed.

    At least so many packets must be seen: all requests and replies, unless something on the way loses some.
    """
    marker = os.urandom(MARKER)
    return [
        examine(site.stack, index, pair, marker, *_send(site, pair, index, marker, events), least)
        for index in range(len(site.stack.layers))
    ]


def _send(
    site: Site, pair: Pair, index: int, marker: bytes, events: Events
) -> tuple[str, list[bytes], list[bytes], list[bytes]]:
    """Captures below a layer while the marker passes: where, all packets, and those that show the evidence.

    The last are those that may pass besides: what is `beside`.
    """
    layer, client = site.stack.layers[index], site.nodes[pair.client]
    with view(site.stack, index, site.underlay, site.nodes, pair) as (watcher, interface):
        path = watcher.home / f"proof-{index}.pcap"
        with capture.capturing(watcher, interface, path):
            arguments = (site.overlays[pair.server].address, marker.hex(), str(ECHOES))
            client.ask(*python.INTERPRETER, "-", *arguments, text=python.source(echo))
    usual = pair == site.underlay.topology.pairs[0]
    name = path.name if usual else f"{pair.name}-{path.name}"
    events.tell("capture", name=name, pcap=base64.b64encode(zlib.compress(watcher.read_bytes(path))).decode())
    evident = capture.filtered(watcher, path, expected(layer, pair))
    others = beside(layer, pair)
    return (
        f"{watcher.name}/{interface}",
        capture.packets(watcher, path),
        evident,
        capture.filtered(watcher, path, others) if others else [],
    )


def examine(
    stack: Stack,
    index: int,
    pair: Pair,
    marker: bytes,
    where: str,
    seen: list[bytes],
    evident: list[bytes],
    others: Sequence[bytes] = (),
    least: int = 2 * ECHOES,
) -> Finding:
    """Compares what was captured below a layer with what the stack claims. Raises ProofFailed.

    A packet that went through another node is among the others, and is missing among those that are evident.
    """
    layer = stack.layers[index]
    aside = sum(len(packet) >= echo.PAYLOAD for packet in others)
    large = [packet for packet in seen if len(packet) >= echo.PAYLOAD]
    shown = [packet for packet in evident if len(packet) >= echo.PAYLOAD]
    marked = [packet for packet in seen if marker in packet]
    marked_inside = [packet for packet in evident if marker in packet]
    hidden = any(_confidential(above) for above in stack.layers[index:])
    name, evidence = layer.about.name, expected(layer, pair)
    if len(shown) < least:
        raise ProofFailed(
            f"{name}: {len(shown)} packets on {where} show its evidence ({evidence}); {least} were to be seen"
        )
    if (around := len(large) - aside - len(shown)) > 0:
        raise ProofFailed(f"{name}: {around} packets on {where} went around it ({evidence})")
    if hidden and marked:
        raise ProofFailed(
            f"{name}: the marker can be read on {where} in {len(marked)} packets, though it is claimed secret"
        )
    if not hidden and not marked_inside:
        raise ProofFailed(f"{name}: the marker is not to be found in the packets on {where} that show its evidence")
    return Finding(name, where, evidence, len(large) - aside, len(shown), len(marked), hidden)


def expected(layer: Tunnel, pair: Pair) -> str:
    """The pcap filter that every packet of a layer passes in its place, on its way between a pair.

    What could go through another node must go from end to end, where the two are joined.
    """
    evidence = _plain(layer)
    if not layer.declared.relays or pair.second not in layer.context.topology.peers[pair.first]:
        return evidence
    first, second = (layer.context.below[name].address for name in (pair.first, pair.second))
    return f"{evidence} and host {first} and host {second}"


def beside(layer: Tunnel, pair: Pair) -> str:
    """The pcap filter of what else may pass in the place of a layer; empty where there is nothing.

    It is what the layer carries between other nodes, as where a daemon finds out what size passes, and what a node with
    a role sends and is sent: a control plane speaks when it likes.
    """
    wanted, plain = expected(layer, pair), _plain(layer)
    others = [plain] if wanted != plain else []
    others += [f"host {role.address}" for role in layer.context.roles.values()]
    return f"({' or '.join(f'({other})' for other in others)}) and not ({wanted})" if others else ""


def _plain(layer: Tunnel) -> str:
    """The pcap filter that every packet of a layer passes in its place, between whomever."""
    return layer.evidence(layer.options, layer.context.outer, layer.context.position)


def _confidential(layer: Tunnel) -> bool:
    return layer.declared.claims.confidentiality
