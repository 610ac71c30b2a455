"""Tells whether packets of a workload went through a node that is neither end: a control plane, or a relay."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.network.underlay import Underlay
from tunbench.runner.node.events import Events
from tunbench.runner.node.node import Node

NOTABLE_SHARE = 0.1
"""The part of what a node with a role was sent, of what the endpoints were sent, from which on it is told."""

MIN_RELAYED_BYTES = 50_000
"""Bytes below which nothing is told: keepalives and control messages, beside a workload that sends little. Netmaker's
control plane was once sent 23 kB during a ping of which the endpoints were sent 60 kB."""


@contextmanager
def watched(
    workload: str, underlay: Underlay, nodes: Mapping[str, Node], events: Events, demanded: Collection[str] = ()
) -> Iterator[None]:
    """Compares what the middle sends to nodes with a role and to endpoints while a workload lasts.

    Nothing is told of those through which a plan `demanded` that packets go.
    """
    if not underlay.roles:
        yield
        return
    before = _sent(underlay, nodes)
    try:
        yield
    finally:
        sent = {name: count - before[name] for name, count in _sent(underlay, nodes).items()}
        events.tell("roles", workload=workload, bytes={name: sent[name] for name in underlay.roles})
        if text := relayed(sent, list(underlay.roles), demanded):
            events.tell("warning", name=WarningKind.RELAYED, text=f"{workload}: {text}")


def relayed(sent: dict[str, int], roles: list[str], demanded: Collection[str] = ()) -> str:
    """Which nodes with a role were sent what others should have been; nothing where the paths were direct."""
    usual = sum(count for name, count in sent.items() if name not in roles)
    strange = [name for name in roles if name not in demanded]
    through = [name for name in strange if sent[name] > max(MIN_RELAYED_BYTES, NOTABLE_SHARE * usual)]
    return "; ".join(f"{name} was sent {sent[name]} bytes, the endpoints {usual}" for name in through)


def _sent(underlay: Underlay, nodes: Mapping[str, Node]) -> dict[str, int]:
    """The bytes that the middle has sent to each endpoint and to each node with a role."""
    names = [*underlay.endpoints, *underlay.roles]
    files = [f"/sys/class/net/to-{name}/statistics/tx_bytes" for name in names]
    counts = nodes[underlay.middle].ask("cat", *files).stdout.split()
    if len(counts) != len(names):
        raise OSError(f"the counters of {underlay.middle} could not be read: {' '.join(counts)!r}")
    return dict(zip(names, map(int, counts), strict=True))
