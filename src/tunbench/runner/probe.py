"""Probes: what the machine spends on a workload, read right before it and right after it. Nothing runs beside it.

A probe is one file in `probes/`: `ABOUT`, `read(scene)`, which reads the machine's counters, and `samples(before,
after)`, which is pure and makes samples of two readings. A value of the whole machine, both ends and what stands
between them, is one of the node `ROOT_NODE`.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from tunbench.runner import registry
from tunbench.runner.declare.metrics import Metric
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.node.node import ROOT_NODE, Node
from tunbench.runner.workload import Sample, Trial, now

PROBE_SHARE = "probe-share"
OF_ALL_PROBES = {
    PROBE_SHARE: Metric("ratio", "processor time of the runner for all probes ÷ time from the first look to the last")
}
"""What is measured of the probes themselves, where there are any."""


class About(NamedTuple):
    """What a probe declares. The one that is `closest` is read last before the workload, and first after it."""

    name: str
    summary: str
    metrics: Mapping[str, Metric]
    closest: bool = False


class Scene(NamedTuple):
    """What a probe looks at: the nodes of the lab, and what the stack yields on those between which is measured."""

    nodes: Sequence[Node]
    overlays: Mapping[str, Overlay]

    @property
    def machine(self) -> Node:
        """The machine on which the nodes are."""
        return self.nodes[0].machine


@contextmanager
def probing(names: Sequence[str], *trials: Trial) -> Iterator[None]:
    """Looks before and after what is executed within; the samples join those of the trial, unless it fails.

    Of several trials that are under way at once the first gets them: what they cost the machine cannot be told apart.
    Raises ValueError where a probe is not known.
    """
    probes = sorted((registry.probe(name) for name in names), key=lambda one: (one.ABOUT.closest, one.ABOUT.name))
    around = scene(trials)
    # Of this thread alone: others of the runner compute meanwhile, and what they take is not the probes' own.
    began, spent = now(), -time.thread_time()
    before = [one.read(around) for one in probes]
    spent += time.thread_time()
    yield
    spent -= time.thread_time()
    after = [one.read(around) for one in reversed(probes)]
    spent += time.thread_time()
    ended = now()
    for one, first, last in zip(probes, before, reversed(after), strict=True):
        trials[0].samples += one.samples(first, last)
    if probes and ended > began:
        trials[0].samples.append(Sample(PROBE_SHARE, spent / (ended - began), node=ROOT_NODE))


def metrics(names: Sequence[str]) -> dict[str, Metric]:
    """The metrics of the probes of these names, and what is measured of them all. Raises ValueError."""
    found = {metric: declared for name in names for metric, declared in registry.probe(name).ABOUT.metrics.items()}
    return {**found, **OF_ALL_PROBES} if names else found


def scene(trials: Sequence[Trial]) -> Scene:
    """What probes look at during these trials: their ends, and all nodes of the laboratory where they know them."""
    ends = {node.name: node for trial in trials for node in (trial.client, trial.server)}
    sites = [trial.site for trial in trials if trial.site]
    others = {name: node for site in sites for name, node in site.nodes.items() if name != ROOT_NODE}
    overlays = {node.name: trial.overlays[node.name] for trial in trials for node in (trial.client, trial.server)}
    return Scene(list({**ends, **others}.values()), overlays)
