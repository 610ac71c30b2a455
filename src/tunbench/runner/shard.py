"""The life of a shard, from nodes to teardown."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from tunbench.runner import impairment, leftovers, nodes, proof, registry, spelling, stack, underlay
from tunbench.runner.contract import StackFailed, Unsupported
from tunbench.runner.events import Events
from tunbench.runner.node import CommandFailed, Node
from tunbench.runner.options import resolve
from tunbench.runner.outside import watched
from tunbench.runner.shell import Shell
from tunbench.runner.stack import Stack
from tunbench.runner.underlay import Underlay
from tunbench.runner.view import views
from tunbench.runner.workload import Trial, View, WorkloadFailed, now

Spec = Mapping[str, Any]
"""What the controlling process hands over: see `tunbench.plan.shard.Shard.spec`."""

FAILURES = (CommandFailed, StackFailed, proof.ProofFailed, WorkloadFailed, OSError, ValueError)
"""What makes a verdict `failed`. Anything else is a mistake of ours, and ends the runner with a traceback."""

SHOWN = 10
"""Things left behind that a warning names at most."""

BRING_UP = "up"
"""What stands in the column `workload` for the time that the stack took to come up."""


def live(spec: Spec, shell: Shell, events: Events) -> None:
    """Lives through a shard. Each of its trials gets a verdict, whatever happens."""
    waiting = [BRING_UP, *spec["workloads"]]
    kind = underlay.UNDERLAYS[spec["underlay"]]
    try:
        events.tell("phase", name="nodes", at=now())
        with nodes.made(kind.names, kind.name_server, shell, events) as made:
            _live_in(made, spec, waiting, events)
    except FAILURES as reason:
        _conclude(events, waiting, "failed", reason)
    events.tell("phase", name="end", at=now())


def _live_in(made: Mapping[str, Node], spec: Spec, waiting: list[str], events: Events) -> None:
    try:
        events.tell("phase", name="underlay", at=now())
        under = underlay.build(spec["underlay"], made)
        events.tell("phase", name="watch", at=now())
        with watched(made[underlay.EDGE], events):
            _live_with(under, made, spec, waiting, events)
    except Unsupported as reason:
        _conclude(events, waiting, "unsupported", reason)
    except FAILURES as reason:
        _conclude(events, waiting, "failed", reason, logs=_tails(made.values()))


def _live_with(under: Underlay, made: Mapping[str, Node], spec: Spec, waiting: list[str], events: Events) -> None:
    endpoints = [made[name] for name in under.endpoints]
    pile = stack.build(spec["stack"], under.endpoints)
    events.tell("phase", name="prepare", at=now())
    stack.prepare(pile, endpoints)
    before = leftovers.look(endpoints)
    began = now()
    events.tell("phase", name="up", at=began)
    with stack.up(pile, endpoints):
        connect = now() - began
        events.tell("phase", name="proof", at=now())
        findings = proof.prove(pile, under, made, events)
        events.tell("proof", findings=[finding._asdict() for finding in findings])
        _tell_trial(
            events, waiting, "ok", samples=[["connect", "s", connect, None]], began=began, logs=_tails(endpoints)
        )
        events.tell("phase", name="impair", at=now())
        impaired = impair(spec["profile"], pile, under, made, events)
        while waiting:
            events.tell("phase", name="trial", workload=waiting[0], at=now())
            _execute(waiting, endpoints, pile, views(pile, under, made), events)
            _look_at_queues(impaired, made, events)
        events.tell("phase", name="down", at=now())
    if left := sorted(leftovers.look(endpoints) - before):
        events.tell("warning", name="left-behind", text="; ".join(left[:SHOWN]))
    if spec["repeat"] == 1:
        _tell_versions(pile, spec["workloads"], made, events)


def impair(
    profile: Mapping[str, Any], pile: Stack, under: Underlay, made: Mapping[str, Node], events: Events
) -> list[tuple[str, str, impairment.Terms]]:
    """Applies a profile and tells what the kernel installed: the nodes, interfaces and terms. Raises CommandFailed."""
    first, second = under.endpoints
    places = {
        "router": [(under.middle, under.towards[second]), (under.middle, under.towards[first])],
        "endpoints": [(name, under.endpoints[name].interface) for name in (first, second)],
        "overlay": [(name, pile.overlay[name].interface) for name in (first, second)],
    }
    impaired = []
    directions = (profile["forward"], profile["reverse"])
    for (name, interface), terms in zip(places[profile["placement"]], directions, strict=True):
        installed = impairment.apply(made[name], interface, terms)
        if installed:
            impaired.append((name, interface, terms))
            events.tell("impairment", node=name, interface=interface, asked=dict(terms), installed=installed)
        for deviation in impairment.deviations(terms, installed):
            events.tell("warning", name="netem-differs", text=f"{name}/{interface}: {deviation}")
    return impaired


def _execute(waiting: list[str], endpoints: list[Node], pile: Stack, below: list[View], events: Events) -> None:
    """Executes the trial that is next, and takes it from `waiting` with its verdict."""
    part = spelling.part(waiting[0])
    module = registry.workload(part.name)
    client, server = endpoints
    trial = Trial(resolve(module.ABOUT.options, part.options, part.name), client, server, pile.overlay, below)
    began = now()
    try:
        for program in module.ABOUT.programs:
            stack.require(client, program)
        module.execute(trial)
        verdict, reason = "ok", ""
    except Unsupported as why:
        verdict, reason = "unsupported", str(why)
    except FAILURES as why:
        verdict, reason = "failed", str(why)
    metrics = module.ABOUT.metrics
    _tell_trial(
        *(events, waiting, verdict, reason),
        samples=[[one.metric, metrics[one.metric].unit, one.value, one.at] for one in trial.samples],
        began=began,
        outputs=trial.outputs,
        logs=_tails(endpoints),
    )


def _tell_trial(events: Events, waiting: list[str], verdict: str, reason: str = "", **fields: Any) -> None:
    events.tell(
        "trial", workload=waiting.pop(0), verdict=verdict, reason=reason, pair="a-b", node="a", ended=now(), **fields
    )


def _conclude(events: Events, waiting: list[str], verdict: str, reason: Exception, **fields: Any) -> None:
    """Gives all trials that still wait the same verdict."""
    while waiting:
        _tell_trial(events, waiting, verdict, f"{reason}", samples=[], began=now(), **fields)


def _look_at_queues(
    impaired: list[tuple[str, str, impairment.Terms]], made: Mapping[str, Node], events: Events
) -> None:
    """Warns where netem dropped more than its loss explains: its queue was full."""
    for name, interface, terms in impaired:
        if text := impairment.overflow(terms, impairment.installed(made[name], interface)):
            events.tell("warning", name="netem-limit", text=f"{name}/{interface}: {text}")


def _tell_versions(pile: Stack, workloads: list[str], made: Mapping[str, Node], events: Events) -> None:
    versions = [layer.declared.version for layer in pile.layers]
    versions += [registry.workload(spelling.part(text).name).ABOUT.version for text in workloads]
    asked = {version for version in versions if version}
    for argv in sorted([*asked, ("ip", "-V"), ("tcpdump", "--version")]):
        result = made["a"].ask(*argv)
        words = (result.stdout or result.stderr).strip().splitlines()
        events.tell("version", program=argv[0], text=words[0] if words else "unknown")
    events.tell("version", program="kernel", text=" ".join(os.uname()[i] for i in (0, 2, 3, 4)))


def _tails(some: Iterable[Node]) -> dict[str, str]:
    return {name: tail for node in some for name, tail in node.tails().items()}
