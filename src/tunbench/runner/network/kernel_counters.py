"""Tells what was counted on each node while a workload lasted: fragments, and what a layer refused."""

import re
from collections.abc import Collection, Mapping, Sequence

from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.node.events import Events
from tunbench.runner.node.node import Node
from tunbench.runner.tunnel import Tunnel

Counters = Mapping[str, int]

READ = "cat /proc/net/snmp /proc/net/snmp6 /proc/net/xfrm_stat 2>/dev/null || true"
"""Prints the counters of the node's own part of the network, in three forms; a kernel may lack one of them."""

SNMP = re.compile(r"^(\w+): ([A-Za-z][\w ]*)\n\1: ([-\d ]+)$", re.ASCII | re.MULTILINE)
LINE = re.compile(r"^((?:Ip6|Xfrm)\w+)[ \t]+(\d{1,20})[ \t]*$", re.ASCII | re.MULTILINE)

CUT, FRAGMENTS, TOO_LARGE, NOT_JOINED = "FragOKs", "FragCreates", "FragFails", "ReasmFails"
"""RFC 4293: ipFragOKs, ipFragCreates, ipFragFails and ipReasmFails, of IPv4 and of IPv6."""

OF_FRAGMENTS = tuple(family + name for family in ("Ip", "Ip6") for name in (CUT, FRAGMENTS, TOO_LARGE, NOT_JOINED))

REFUSED = {
    "XfrmInStateSeqError": "came later than the replay window holds",
    "XfrmInStateProtoError": "failed the check of their integrity",
    "XfrmInNoStates": "were of no SA that is known",
    "XfrmInStateExpired": "were of an SA that had ended",
    "XfrmInStateInvalid": "were of an SA that is not valid any more",
    "XfrmInStateMismatch": "were of an SA of other options",
    "XfrmInTmplMismatch": "came otherwise than their policy says",
    "XfrmInNoPols": "had no policy",
    "XfrmInPolBlock": "were blocked by a policy",
    "XfrmInError": "could not be taken",
    "XfrmOutNoStates": "had no SA to leave by",
    "XfrmOutStateProtoError": "could not be encrypted",
    "XfrmOutStateSeqError": "would have begun the sequence numbers anew",
    "XfrmOutStateExpired": "would have left by an SA that had ended",
    "XfrmOutPolBlock": "were not let out by a policy",
}
"""Why IPsec dropped packets, by the kernel's counters: Linux, Documentation/networking/xfrm_proc.rst."""


class Watch:
    """The nodes of a shard, and what their kernels and the layers on them had counted when they were looked at last."""

    def __init__(self, nodes: Collection[Node], layers: Sequence[Tunnel] = ()) -> None:
        self.nodes = nodes
        self.layers = [layer for layer in layers if layer.declared.refusals]
        self.refusals = {name: why for layer in self.layers for name, why in layer.declared.refusals.items()}
        self.before = {node.name: self.counted(node) for node in nodes}

    def counted(self, node: Node) -> dict[str, int]:
        """What the kernel of a node has counted, and the layers that have counters of their own."""
        of_layers: dict[str, int] = {}
        for layer in self.layers:
            if node.name in layer.context.above:
                of_layers |= layer.refused(node)
        return counted(node) | of_layers

    def tell(self, workload: str, events: Events) -> None:
        """Tells what a node has counted during a workload, if anything, and warns of it."""
        for node in self.nodes:
            now = self.counted(node)
            before, self.before[node.name] = self.before[node.name], now
            # A layer that was taken down meanwhile has begun anew.
            since = {name: more for name, count in now.items() if (more := count - before.get(name, 0)) > 0}
            if since:
                events.tell("kernel", node=node.name, workload=workload, counters=since)
            for kind, text in (*_of_fragments(since), *_of_refusals(since, {**REFUSED, **self.refusals})):
                events.tell("warning", name=kind, text=f"{workload}: {node.name}: {text}")


def counted(node: Node) -> dict[str, int]:
    """What the kernel of a node has counted of fragments and of refused packets."""
    text = node.ask("sh", "-c", READ).stdout
    found = {name: int(value) for name, value in LINE.findall(text)}
    for protocol, names, values in SNMP.findall(text):
        found |= {protocol + name: int(value) for name, value in zip(names.split(), values.split(), strict=False)}
    return {name: found[name] for name in (*OF_FRAGMENTS, *REFUSED) if name in found}


def _of_fragments(since: Counters) -> Sequence[tuple[WarningKind, str]]:
    """What there is to say of fragments, of both families together."""
    cut, fragments, not_joined = (
        sum(since.get(family + name, 0) for family in ("Ip", "Ip6")) for name in (CUT, FRAGMENTS, NOT_JOINED)
    )
    if not cut:
        return []
    lost = f"; {not_joined} were not put together again" if not_joined else ""
    return [(WarningKind.FRAGMENTED, f"{cut} packets left in {fragments} fragments{lost}")]


def _of_refusals(since: Counters, reasons: Mapping[str, str]) -> Sequence[tuple[WarningKind, str]]:
    """What there is to say of refused packets, a sentence for each reason."""
    return [(WarningKind.LAYER_DROPS, f"{since[name]} packets {why}") for name, why in reasons.items() if name in since]
