"""The life of a shard, from nodes to teardown."""

import os
import time
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from tunbench.runner import registry, stack, trials
from tunbench.runner.declare import spelling, topology
from tunbench.runner.declare.failures import Unsupported
from tunbench.runner.declare.metrics import Metric
from tunbench.runner.network import impairment, leftovers, tuning, underlay
from tunbench.runner.network.edge import watched
from tunbench.runner.node import memory_watch, namespaces, pinning
from tunbench.runner.node.events import Events
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Shell
from tunbench.runner.site import Site
from tunbench.runner.trials import FAILURES
from tunbench.runner.workload import Sample, now

Spec = Mapping[str, Any]
"""What the controlling process hands over: see `tunbench.plan.shard.Shard.spec`."""

SHOWN = 10
"""Things left behind that a warning names at most."""

BRING_UP = "up"
"""What stands in the column `workload` for the time that the stack took to come up."""

SETTLE = 0.1
"""Seconds between what the lab tells and what is timed: whoever hears it has then done with it, and the machine rests.
Without them some 10 ms of the controlling process fell into the beginning of each test (docs/decisions.md)."""

UP = {"connect": Metric("s", "time until the first endpoint had an answer from every other one")}


def live(spec: Spec, shell: Shell, events: Events, cores: Collection[int] = ()) -> None:
    """Lives through a shard. Each of its trials gets a verdict, whatever happens.

    `cores` are those that it may use: where there are enough, each node that packets pass has one to itself.
    """
    waiting = [BRING_UP, *spec["workloads"]]
    roles = stack.roles(spec["stack"])
    under = underlay.of(spec["underlay"], topology.read(spec["topology"]), spec["tuning"]["mtu"], roles)
    try:
        events.tell("phase", name="nodes", at=now())
        pins = pinning.pins(under.passed, cores)
        if pins:
            events.tell("pinned", nodes=dict(pins.nodes), rest=list(pins.rest))
        with (
            pinning.kept_to(pins.rest if pins else ()),
            namespaces.made(under.names, under.name_server, shell, events, pins) as made,
            memory_watch.watched(made.values()),
        ):
            pile = stack.build(spec["stack"], under.endpoints, under.topology, under.roles)
            _live_in(Site(made, under, pile), spec, waiting, events)
    except FAILURES as reason:
        _conclude(events, waiting, "failed", reason)
    events.tell("phase", name="end", at=now())


def _live_in(site: Site, spec: Spec, waiting: list[str], events: Events) -> None:
    try:
        events.tell("phase", name="underlay", at=now())
        underlay.build(site.underlay, site.nodes)
        tuning.apply(spec["tuning"], site, events)
        underlay.join(site.underlay, site.stack.overlay, site.nodes)
        events.tell("phase", name="watch", at=now())
        with watched(site.nodes[underlay.EDGE], events):
            _live_with(site, spec, waiting, events)
    except Unsupported as reason:
        _conclude(events, waiting, "unsupported", reason)
    except FAILURES as reason:
        _conclude(events, waiting, "failed", reason, logs=_tails(site.nodes.values()))


def _live_with(site: Site, spec: Spec, waiting: list[str], events: Events) -> None:
    events.tell("phase", name="prepare", at=now())
    stack.prepare(site.stack, site.members)
    before = leftovers.look(site.members)
    began = _begin(events, "up")
    with stack.up(site.stack, site.members):
        connect = now() - began
        events.tell("phase", name="proof", at=now())
        for pair in trials.pairs_of(spec["workloads"], site.underlay.topology):
            trials.prove(site, pair, events)
        _tell_trial(
            events,
            waiting,
            "ok",
            samples=trials.rows([Sample("connect", connect)], UP, site.pair),
            began=began,
            logs=_tails(site.members),
        )
        events.tell("phase", name="impair", at=now())
        impaired = impairment.impair(spec["profile"], site.underlay, site.stack.overlay, site.nodes, events)
        while waiting:
            began = _begin(events, "trial", workload=waiting[0])
            told = trials.execute(waiting[0], site, spec.get("probes", registry.probe_names()), events)
            _tell_trial(events, waiting, began=began, logs=_tails([*site.members, *site.hosts]), **told)
            impairment.check_queues(impaired, events)
        events.tell("phase", name="down", at=now())
    if left := sorted(leftovers.look(site.members) - before):
        events.tell("warning", name="left-behind", text="; ".join(left[:SHOWN]))
    if spec["repeat"] == 1:
        _tell_versions(site, spec["workloads"], events)


def _begin(events: Events, phase: str, **fields: Any) -> float:
    """Tells a phase in which something is timed, and returns the moment at which that may begin."""
    events.tell("phase", name=phase, at=now(), **fields)
    time.sleep(SETTLE)
    return now()


def _tell_trial(events: Events, waiting: list[str], verdict: str, reason: str = "", **fields: Any) -> None:
    events.tell("trial", workload=waiting.pop(0), verdict=verdict, reason=reason, ended=now(), **fields)


def _conclude(events: Events, waiting: list[str], verdict: str, reason: Exception, **fields: Any) -> None:
    """Gives all trials that still wait the same verdict."""
    while waiting:
        _tell_trial(events, waiting, verdict, f"{reason}", samples=[], began=now(), **fields)


def _tell_versions(site: Site, workloads: list[str], events: Events) -> None:
    versions = [layer.declared.version for layer in site.stack.layers]
    versions += [registry.workload(spelling.part(text).name).ABOUT.version for text in workloads]
    asked = {version for version in versions if version}
    for argv in sorted([*asked, ("ip", "-V"), ("tcpdump", "--version")]):
        result = site.endpoints[0].ask(*argv)
        words = (result.stdout or result.stderr).strip().splitlines()
        events.tell("version", program=argv[0], text=words[0] if words else "unknown")
    events.tell("version", program="kernel", text=" ".join(os.uname()[i] for i in (0, 2, 3, 4)))


def _tails(some: Iterable[Node]) -> dict[str, str]:
    return {name: tail for node in some for name, tail in node.tails().items()}
