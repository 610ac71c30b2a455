"""When the first packet of an overlay gets to each endpoint, and when the first does that came from end to end."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from tunbench.runner.declare.topology import Pair
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import wait_until
from tunbench.runner.proof import capture, claims
from tunbench.runner.site import Site
from tunbench.runner.workload import Sample

FIRST, FIRST_DIRECT = "first", "direct"
"""The metrics."""

ALL_INTERFACES = "any"
"""For tcpdump: those as well that are not there yet."""

LEAST_FRAME = 130
"""Bytes that a frame has at least whose packet holds a probe: what only keeps a path open has fewer."""


OTHER_END_TIMEOUT = 5.0
"""Seconds that the other end may take to send directly as well."""


class Watched(NamedTuple):
    """A capture that goes on: the metric that its first packet yields, of which endpoint, and where it is written."""

    metric: str
    endpoint: str
    node: Node
    path: Path


def has_several_paths(site: Site) -> bool:
    """Whether packets of the lowest layer may take several ways."""
    return len(site.stack.layers[0].declared.paths) > 1


@contextmanager
def watched(site: Site, pair: Pair, name: str) -> Iterator[Sequence[Watched]]:
    """Captures what gets to each end of a pair while it lasts, where packets may take several ways."""
    with ExitStack() as captures:
        openings = _openings(site, pair, name) if has_several_paths(site) else []
        yield [captures.enter_context(one) for one in openings]


def _openings(site: Site, pair: Pair, name: str) -> list[AbstractContextManager[Watched]]:
    inside, ends = site.stack.overlay, ((pair.first, pair.second), (pair.second, pair.first))
    return [
        *(
            _capturing(FIRST, here, site.nodes[here], ALL_INTERFACES, f"src host {inside[there].address}", name)
            for here, there in ends
        ),
        *(direct(site, pair, here, name) for here, _ in ends),
    ]


def direct(site: Site, pair: Pair, endpoint: str, name: str) -> AbstractContextManager[Watched]:
    """Captures what gets to an endpoint from end to end."""
    ways = claims.all_ways(site.stack.layers[0], pair)
    evidence = " or ".join(f"({way.evidence})" for way in ways if not way.through)
    towards = site.underlay.towards[endpoint]
    expression = f"({evidence}) and greater {LEAST_FRAME}"
    return _capturing(FIRST_DIRECT, endpoint, site.nodes[towards.node], towards.name, expression, name)


@contextmanager
def _capturing(metric: str, endpoint: str, node: Node, interface: str, expression: str, name: str) -> Iterator[Watched]:
    path = node.home / f"{name}-{metric}-{endpoint}.pcap"
    # A middle sees what leaves it for an endpoint, and an endpoint what comes in.
    with capture.capturing(node, interface, path, expression, "out" if metric == FIRST_DIRECT else "in"):
        yield Watched(metric, endpoint, node, path)


def moment(one: Watched) -> float | None:
    """The moment of the first packet of a capture on the lab's clock; None where there is none."""
    moments = capture.moments(one.node, one.path)
    return moments[0] if moments else None


def wait_for_both(some: Sequence[Watched]) -> None:
    """Where one endpoint got a direct packet, waits a little until the other one did: each finds its path by itself."""
    ends = [one for one in some if one.metric == FIRST_DIRECT]
    if any(moment(one) for one in ends):
        wait_until(lambda: all(moment(one) for one in ends), OTHER_END_TIMEOUT, 0.1)


def samples(some: Sequence[Watched], start: float, began: float) -> list[Sample]:
    """The time from `start` to the first packet of each capture that has one; the trial `began` before."""
    found = ((one, moment(one)) for one in some)
    return [
        Sample(one.metric, first - start, start - began, one.endpoint)
        for one, first in found
        if first is not None and first >= start
    ]
