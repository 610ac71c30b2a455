"""All endpoints restart at once: how long it takes each of them until the first of its peers answers."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import permutations
from pathlib import Path

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import wait_until
from tunbench.runner.site import Site
from tunbench.runner.workload import Sample, Trial, now
from tunbench.runner.workloads.shared import blocked_time, outages

TIMEOUT = 180.0
"""Seconds after the restart in which peers must answer: a published study saw 98."""

CALM_SECONDS = 0.2
"""Seconds for which probes go on after the last answer that was waited for."""

Streams = Mapping[tuple[str, str], tuple[Node, Path]]
"""By the names of who asks and who is asked: the node on which a stream of probes is, and where it tells of answers."""


def measure(trial: Trial, name: str, began: float) -> list[Sample]:
    """Lets it happen, and waits for the answers; the trial gets what the probes told, and `began` before.

    Raises WorkloadFailed, CommandFailed and StackFailed.
    """
    site = trial.site
    assert site
    gateways = {node.name: outages.go_down(site, node) for node in site.endpoints}
    # The network is there before programs start: a machine's own boot is not the tunnel's.
    for node in site.endpoints:
        outages.rejoin(site, node, gateways[node.name])
    with ExitStack() as probing:
        streams = _ready(trial, site, name, probing)
        started = now()
        for node, log in streams.values():
            blocked_time.begin(node, log)
        outages.bring_up(site, *site.endpoints)
        waiting = list(streams.values())
        wait_until(lambda: all(blocked_time.answered_since(*one, started) for one in waiting), TIMEOUT, 0.02)
        time.sleep(CALM_SECONDS)
    texts = {ends: node.read(log) for ends, (node, log) in streams.items()}
    trial.outputs |= {f"{name}-{here}-{there}.txt": text for (here, there), text in texts.items()}
    return parse(texts, started, started - began)


def _ready(trial: Trial, site: Site, name: str, probing: ExitStack) -> Streams:
    """A stream of probes from each endpoint to each other one, which waits to be told to begin."""
    interval, overlays = float(trial.options["interval"]), site.stack.overlay
    names = [node.name for node in site.endpoints]
    found = {}
    for here, there in permutations(names, 2):
        node, address = site.nodes[here], overlays[there].address
        log = probing.enter_context(blocked_time.ready(node, overlays[here], address, interval, f"{name}-{there}"))
        found[here, there] = (node, log)
    return found


def parse(texts: Mapping[tuple[str, str], str], started: float, at: float) -> list[Sample]:
    """The time from the start until the first peer answered, of each node. Raises WorkloadFailed."""
    found = []
    for here in dict.fromkeys(here for here, _ in texts):
        told = [text for ends, text in texts.items() if ends[0] == here]
        found.append(Sample("blocked", _first_answer(here, told, started), at, here))
    return found


def _first_answer(node: str, texts: Sequence[str], started: float) -> float:
    seen = [blocked_time.parse(text) for text in texts]
    answers = [one.gaps[0].end for one in seen if one.gaps]
    if not answers:
        raise WorkloadFailed(f"no peer answered {node} within {TIMEOUT:g} s of the restart of all")
    if min(answers) < started:
        raise WorkloadFailed(f"a probe of {node} was answered before the restart")
    return min(answers) - started
