"""All endpoints restart at once: how long it takes each of them until the first of its peers answers."""

import random
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import permutations
from pathlib import Path

from tunbench.runner.declare.failures import StackFailed, WorkloadFailed
from tunbench.runner.node.command import CommandFailed
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


def measure(trial: Trial, name: str, began: float) -> None:
    """Lets it happen, and waits for the answers; the trial gets samples and what the probes told, and `began` before.

    Raises WorkloadFailed, after the samples of those nodes that were answered, and CommandFailed before the restart.
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
        awaited_in_vain = _bring_up(site, order(site.endpoints, f"{site.seed} {name}"))
        waiting, left = list(streams.values()), max(0.0, started + TIMEOUT - now())
        wait_until(lambda: all(blocked_time.answered_since(*one, started) for one in waiting), left, 0.02)
        time.sleep(CALM_SECONDS)
    texts = {ends: node.read(log) for ends, (node, log) in streams.items()}
    trial.outputs |= {f"{name}-{here}-{there}.txt": text for (here, there), text in texts.items()}
    samples, failure = parse(texts, started, started - began)
    trial.samples += samples
    if failure:
        raise WorkloadFailed("; ".join(filter(None, [failure, awaited_in_vain])))


def order(endpoints: Sequence[Node], seed: str) -> list[Node]:
    """Who is told to start before whom: no machine of several that restart at once is always the first one."""
    return random.Random(seed).sample(list(endpoints), len(endpoints))


def _bring_up(site: Site, rising: Sequence[Node]) -> str:
    """Starts all; what a start waited for in vain, if anything: peers may find each other later than a start waits."""
    try:
        outages.bring_up(site, *rising)
    except (StackFailed, CommandFailed) as why:
        # swanctl may say so of an SA that is there: what peers answer decides.
        return str(why)
    return ""


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


def parse(texts: Mapping[tuple[str, str], str], started: float, at: float) -> tuple[list[Sample], str]:
    """The time from the start until the first peer answered, of each node, and why others have none.

    Raises WorkloadFailed where a probe was answered before the start.
    """
    nodes = dict.fromkeys(here for here, _ in texts)
    first = {here: _first_answer([text for ends, text in texts.items() if ends[0] == here]) for here in nodes}
    if early := [here for here, answer in first.items() if answer is not None and answer < started]:
        raise WorkloadFailed(f"a probe of {' and '.join(early)} was answered before the restart")
    silent = [here for here, answer in first.items() if answer is None]
    failure = f"no peer answered {' and '.join(silent)} within {TIMEOUT:g} s of the restart of all" if silent else ""
    answered = [(here, answer) for here, answer in first.items() if answer is not None]
    return [Sample("blocked", answer - started, at, here) for here, answer in answered], failure


def _first_answer(texts: Sequence[str]) -> float | None:
    """When the first of these probes was answered, if one was."""
    seen = [blocked_time.parse(text) for text in texts]
    return min((one.gaps[0].end for one in seen if one.gaps), default=None)
