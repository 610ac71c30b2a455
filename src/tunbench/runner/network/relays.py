"""Tells whether packets of a workload went through a node that is neither end: a control plane, or a relay."""

from collections.abc import Iterator
from contextlib import contextmanager

from tunbench.runner.node.events import Events
from tunbench.runner.site import Site

SHARE = 0.1
"""The part of what a node with a role was sent, of what the endpoints were sent, from which on it is told."""

LEAST = 50_000
"""Bytes below which nothing is told: keepalives and control messages, beside a workload that sends little. Netmaker's
control plane was once sent 23 kB during a ping of which the endpoints were sent 60 kB."""


@contextmanager
def watched(workload: str, site: Site, events: Events) -> Iterator[None]:
    """Compares what the middle sends to nodes with a role and to endpoints while a workload lasts."""
    if not site.underlay.roles:
        yield
        return
    before = _sent(site)
    try:
        yield
    finally:
        sent = {name: count - before[name] for name, count in _sent(site).items()}
        events.tell("roles", workload=workload, bytes={name: sent[name] for name in site.underlay.roles})
        if text := told(sent, list(site.underlay.roles)):
            events.tell("warning", name="relayed", text=f"{workload}: {text}")


def told(sent: dict[str, int], roles: list[str]) -> str:
    """What is to be told of the bytes that were sent to each node; nothing where the paths were direct."""
    usual = sum(count for name, count in sent.items() if name not in roles)
    through = [name for name in roles if sent[name] > max(LEAST, SHARE * usual)]
    return "; ".join(f"{name} was sent {sent[name]} bytes, the endpoints {usual}" for name in through)


def _sent(site: Site) -> dict[str, int]:
    """The bytes that the middle has sent to each endpoint and to each node with a role."""
    names = [*site.underlay.endpoints, *site.underlay.roles]
    files = [f"/sys/class/net/to-{name}/statistics/tx_bytes" for name in names]
    counts = site.nodes[site.underlay.middle].ask("cat", *files).stdout.split()
    if len(counts) != len(names):
        raise OSError(f"the counters of {site.underlay.middle} could not be read: {' '.join(counts)!r}")
    return dict(zip(names, map(int, counts), strict=True))
