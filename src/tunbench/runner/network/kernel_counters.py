"""Tells what was counted on each node while a workload lasted: fragments, and what layers and sockets dropped."""

import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence

from tunbench.runner.declare.metrics import LAYER_DROPS, PACKETS_CUT, SOCKET_DROPS
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.node.events import Events
from tunbench.runner.node.node import NET, Node
from tunbench.runner.tunnel import Tunnel
from tunbench.runner.workload import Sample

Counters = Mapping[str, int]

FILES = ("snmp", "snmp6", "xfrm_stat", "udp", "udp6")
"""Files of /proc/PID/net with what a node has counted, in four forms; a kernel may lack one of them."""

SNMP = re.compile(r"^(\w+): ([A-Za-z][\w ]*)\n\1: ([-\d ]+)$", re.ASCII | re.MULTILINE)
LINE = re.compile(r"^((?:Ip6|Udp6|Xfrm)\w+)[ \t]+(\d{1,20})[ \t]*$", re.ASCII | re.MULTILINE)
SOCKET = re.compile(r"^ *\d+: [0-9A-F]{8,32}:([0-9A-F]{4}) [^\n]* (\d{1,20}) *$", re.ASCII | re.MULTILINE)
"""An open socket in /proc/net/udp: its port, and what it has dropped (Linux, net/ipv4/udp.c, udp4_format_sock())."""

CUT, FRAGMENTS, TOO_LARGE, NOT_JOINED = "FragOKs", "FragCreates", "FragFails", "ReasmFails"
"""RFC 4293: ipFragOKs, ipFragCreates, ipFragFails and ipReasmFails, of IPv4 and of IPv6."""

OF_FRAGMENTS = tuple(family + name for family in ("Ip", "Ip6") for name in (CUT, FRAGMENTS, TOO_LARGE, NOT_JOINED))

FULL = ("UdpRcvbufErrors", "Udp6RcvbufErrors")
"""Datagrams that found the buffer of a socket full: Linux, Documentation/networking/snmp_counter.rst."""

AT_PORT = "udp-port-"
"""How a counter begins of what the open sockets of a port have dropped."""

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
        self.reasons = {**REFUSED, **{name: why for one in self.layers for name, why in one.declared.refusals.items()}}
        self.before = self._counted()
        self.since: dict[str, Counters] = {}

    def look(self) -> None:
        """Looks at what each node has counted since it was looked at last."""
        now = self._counted()
        # A layer that was taken down meanwhile has begun anew.
        self.since = {
            node: {name: max(0, count - self.before[node].get(name, 0)) for name, count in counters.items()}
            for node, counters in now.items()
        }
        self.before = now

    def samples(self, names: Iterable[str]) -> list[Sample]:
        """What each of these nodes has counted, by metric, as far as it counts."""
        return [
            Sample(metric, float(value), node=name)
            for name in names
            for metric, value in summed(self.since[name], self.reasons).items()
        ]

    def tell(self, workload: str, events: Events) -> None:
        """Tells what was counted when it was looked at last, if anything, and warns of it."""
        for node, counters in self.since.items():
            since = {name: count for name, count in counters.items() if count}
            if since:
                events.tell("kernel", node=node, workload=workload, counters=since)
            for kind, text in (*_of_fragments(since), *_of_refusals(since, self.reasons), *_of_sockets(since)):
                events.tell("warning", name=kind, text=f"{workload}: {node}: {text}")

    def _counted(self) -> dict[str, Counters]:
        """What each node has counted until now, when the daemons have caught up."""
        time.sleep(max((layer.declared.counts_within for layer in self.layers), default=0))
        return {node.name: self._counted_on(node) for node in self.nodes}

    def _counted_on(self, node: Node) -> Counters:
        """What the kernel of a node has counted, and the layers that have counters of their own."""
        of_layers: dict[str, int] = {}
        for layer in self.layers:
            if node.name in {*layer.context.above, *layer.declared.roles}:
                of_layers |= layer.refused(node)
        return counted(node) | of_layers


def counted(node: Node) -> dict[str, int]:
    """What the kernel of a node has counted of fragments and of packets that it dropped, and which sockets did."""
    text = "".join(node.read_if_there(NET / name) for name in FILES)
    found = {name: int(value) for name, value in LINE.findall(text)}
    for protocol, names, values in SNMP.findall(text):
        found |= {protocol + name: int(value) for name, value in zip(names.split(), values.split(), strict=False)}
    known = {name: found[name] for name in (*OF_FRAGMENTS, *REFUSED, *FULL) if name in found}
    for port, drops in SOCKET.findall(text):
        name = f"{AT_PORT}{int(port, 16)}"
        known[name] = known.get(name, 0) + int(drops)
    return known


def summed(since: Counters, reasons: Mapping[str, str]) -> dict[str, int]:
    """What was counted, by metric; none of which nothing is counted at all."""
    names = {
        LAYER_DROPS: reasons,
        SOCKET_DROPS: FULL,
        PACKETS_CUT: [family + CUT for family in ("Ip", "Ip6")],
    }
    return {
        metric: sum(since.get(name, 0) for name in some)
        for metric, some in names.items()
        if any(name in since for name in some)
    }


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


def _of_sockets(since: Counters) -> Sequence[tuple[WarningKind, str]]:
    """What there is to say of full sockets.

    Those that are still open are of daemons, and have counters of their own, in which other reasons are too; the
    programs of a workload have ended.
    """
    full = sum(since.get(name, 0) for name in FULL)
    if not full:
        return []
    ports = {name.removeprefix(AT_PORT): count for name, count in since.items() if name.startswith(AT_PORT)}
    of_daemons = min(full, sum(ports.values()))
    found = []
    if of_daemons:
        where = ", ".join(ports)
        found.append(
            (WarningKind.LAYER_DROPS, f"{of_daemons} datagrams found the socket of a daemon full, at UDP port {where}")
        )
    if rest := full - of_daemons:
        text = f"{rest} datagrams found the socket of a program full that has ended since, as one of the workload's"
        found.append((WarningKind.SOCKET_DROPS, text))
    return found
