"""The life of a shard, from nodes to teardown."""

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

from tunbench.runner import asked, impairment, leftovers, nodes, proof, registry, spelling, stack, topology, underlay
from tunbench.runner.contract import StackFailed, Unsupported
from tunbench.runner.events import Events
from tunbench.runner.node import CommandFailed, Node
from tunbench.runner.options import Options
from tunbench.runner.outside import watched
from tunbench.runner.shell import Shell
from tunbench.runner.topology import Pair, Topology
from tunbench.runner.view import views
from tunbench.runner.workload import Metric, Sample, Site, Trial, WorkloadFailed, now

Spec = Mapping[str, Any]
"""What the controlling process hands over: see `tunbench.plan.shard.Shard.spec`."""

FAILURES = (CommandFailed, StackFailed, proof.ProofFailed, WorkloadFailed, OSError, ValueError)
"""What makes a verdict `failed`. Anything else is a mistake of ours, and ends the runner with a traceback."""

SHOWN = 10
"""Things left behind that a warning names at most."""

BRING_UP = "up"
"""What stands in the column `workload` for the time that the stack took to come up."""


UP = {"connect": Metric("s", "time until the first endpoint had an answer from every other one")}


class Outcome(NamedTuple):
    """How an execution ended: a verdict, and its reason if it is not `ok`."""

    verdict: str
    reason: str = ""


OK = Outcome("ok")
WORST_FIRST = ("failed", "unsupported")


def live(spec: Spec, shell: Shell, events: Events) -> None:
    """Lives through a shard. Each of its trials gets a verdict, whatever happens."""
    waiting = [BRING_UP, *spec["workloads"]]
    under = underlay.of(spec["underlay"], topology.read(spec["topology"]))
    try:
        events.tell("phase", name="nodes", at=now())
        with nodes.made(under.names, under.name_server, shell, events) as made:
            _live_in(
                Site(made, under, stack.build(spec["stack"], under.endpoints, under.topology)), spec, waiting, events
            )
    except FAILURES as reason:
        _conclude(events, waiting, "failed", reason)
    events.tell("phase", name="end", at=now())


def _live_in(site: Site, spec: Spec, waiting: list[str], events: Events) -> None:
    try:
        events.tell("phase", name="underlay", at=now())
        underlay.build(site.underlay, site.nodes)
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
    stack.prepare(site.stack, site.endpoints)
    before = leftovers.look(site.endpoints)
    began = now()
    events.tell("phase", name="up", at=began)
    with stack.up(site.stack, site.endpoints):
        connect = now() - began
        events.tell("phase", name="proof", at=now())
        for pair in _pairs_of(spec["workloads"], site.underlay.topology):
            _prove(site, pair, events)
        _tell_trial(
            events,
            waiting,
            "ok",
            samples=_rows([Sample("connect", connect)], UP, site.pair),
            began=began,
            logs=_tails(site.endpoints),
        )
        events.tell("phase", name="impair", at=now())
        impaired = impair(spec["profile"], site, events)
        while waiting:
            events.tell("phase", name="trial", workload=waiting[0], at=now())
            _execute(waiting, site, events)
            _look_at_queues(impaired, site.nodes, events)
        events.tell("phase", name="down", at=now())
    if left := sorted(leftovers.look(site.endpoints) - before):
        events.tell("warning", name="left-behind", text="; ".join(left[:SHOWN]))
    if spec["repeat"] == 1:
        _tell_versions(site, spec["workloads"], events)


def _prove(site: Site, pair: Pair, events: Events) -> None:
    """Waits until the pair can talk, and proves how. Raises StackFailed and ProofFailed."""
    client, target = site.nodes[pair.client], site.overlays[pair.server].address
    if not client.until("ping", "-n", "-c", "1", "-W", "0.5", target, timeout=stack.PATIENCE):
        raise StackFailed(f"{pair.server} did not answer {pair.client} within {stack.PATIENCE:g} s")
    findings = proof.prove(site, pair, events)
    events.tell("proof", pair=pair.name, findings=[finding._asdict() for finding in findings])


def impair(profile: Mapping[str, Any], site: Site, events: Events) -> list[tuple[str, str, impairment.Terms]]:
    """Applies a profile and tells what the kernel installed: the nodes, interfaces and terms. Raises CommandFailed.

    The way from the first endpoint, and between all others, has the terms of `forward`; the way to it, of `reverse`.
    """
    impaired = []
    for node, interface, direction in _places(profile["placement"], site):
        terms = profile[direction]
        installed = impairment.apply(site.nodes[node], interface, terms)
        if installed:
            impaired.append((node, interface, terms))
            events.tell("impairment", node=node, interface=interface, asked=dict(terms), installed=installed)
        for deviation in impairment.deviations(terms, installed):
            events.tell("warning", name="netem-differs", text=f"{node}/{interface}: {deviation}")
    return impaired


def _places(placement: str, site: Site) -> list[tuple[str, str, str]]:
    """Where netem sits: the node, the interface, and the direction whose terms it gets."""
    under = site.underlay
    first, *others = under.endpoints
    if placement == "router":
        there = [(under.middle, under.towards[name], "forward") for name in others]
        return [*there, (under.middle, under.towards[first], "reverse")]
    own = under.endpoints if placement == "endpoints" else site.stack.overlay
    back = [(name, own[name].interface, "reverse") for name in others]
    return [(first, own[first].interface, "forward"), *back]


def _execute(waiting: list[str], site: Site, events: Events) -> None:
    """Executes the trial that is next, and takes it from `waiting` with its verdict."""
    what = asked.read(waiting[0])
    module, pairs = what.module, what.pairs(site.underlay.topology)
    trials = [_trial(what.options, site, pair, number * what.together) for number, pair in enumerate(pairs)]
    began = now()
    with ThreadPoolExecutor(len(trials) if what.together else 1) as several:
        outcomes = list(several.map(partial(_attempt, module), trials))
    again = _attempt_proof(site, events) if module.ABOUT.restarts else OK
    verdicts = [*zip([pair.name for pair in pairs], outcomes, strict=True), ("the proof afterwards", again)]
    verdict = next((word for word in WORST_FIRST if any(word == one.verdict for _, one in verdicts)), "ok")
    reasons = [(name, one.reason) for name, one in verdicts if one.reason]
    _tell_trial(
        *(events, waiting, verdict),
        "; ".join(reason if len(pairs) == 1 else f"{name}: {reason}" for name, reason in reasons),
        samples=[
            row
            for pair, trial in zip(pairs, trials, strict=True)
            for row in _rows([] if again.reason else trial.samples, module.ABOUT.metrics, pair)
        ],
        began=began,
        outputs={
            name if len(pairs) == 1 else f"{pair.name}-{name}": text
            for pair, trial in zip(pairs, trials, strict=True)
            for name, text in trial.outputs.items()
        },
        logs=_tails(site.nodes[name] for name in (*site.underlay.endpoints, *site.underlay.topology.hosts.values())),
    )


def _trial(options: Options, site: Site, pair: Pair, number: int) -> Trial:
    below = views(site.stack, site.underlay, site.nodes, pair)
    return Trial(
        options, site.nodes[pair.client], site.nodes[pair.server], site.overlays, below, number=number, site=site
    )


def _attempt(module: ModuleType, trial: Trial) -> Outcome:
    try:
        for program in module.ABOUT.programs:
            stack.require(trial.client, program)
        module.execute(trial)
    except Unsupported as why:
        return Outcome("unsupported", str(why))
    except FAILURES as why:
        return Outcome("failed", str(why))
    return OK


def _attempt_proof(site: Site, events: Events) -> Outcome:
    """The proof once more, after a workload that took the tunnel down."""
    try:
        _prove(site, site.pair, events)
    except FAILURES as why:
        return Outcome("failed", str(why))
    return OK


def _pairs_of(workloads: Sequence[str], of: Topology) -> list[Pair]:
    """All pairs between which the workloads run, the usual one first."""
    return list(dict.fromkeys([of.pairs[0], *(pair for text in workloads for pair in asked.read(text).pairs(of))]))


def _rows(samples: Sequence[Sample], metrics: Mapping[str, Metric], pair: Pair) -> list[list[Any]]:
    """Samples as the journal has them: metric, unit, value, moment, pair and node."""
    return [
        [one.metric, metrics[one.metric].unit, one.value, one.at, pair.name, one.node or pair.client] for one in samples
    ]


def _tell_trial(events: Events, waiting: list[str], verdict: str, reason: str = "", **fields: Any) -> None:
    events.tell("trial", workload=waiting.pop(0), verdict=verdict, reason=reason, ended=now(), **fields)


def _conclude(events: Events, waiting: list[str], verdict: str, reason: Exception, **fields: Any) -> None:
    """Gives all trials that still wait the same verdict."""
    while waiting:
        _tell_trial(events, waiting, verdict, f"{reason}", samples=[], began=now(), **fields)


def _look_at_queues(
    impaired: list[tuple[str, str, impairment.Terms]], made: Mapping[str, Node], events: Events
) -> None:
    """Tells netem's counters, and warns where it dropped more than its loss explains: its queue was full."""
    for name, interface, terms in impaired:
        qdisc = impairment.installed(made[name], interface)
        events.tell("queue", node=name, interface=interface, counters=impairment.counters(qdisc))
        if text := impairment.overflow(terms, qdisc):
            events.tell("warning", name="netem-limit", text=f"{name}/{interface}: {text}")


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
