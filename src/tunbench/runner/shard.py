"""The life of a shard, from nodes to teardown."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from tunbench.runner import mistaken_file, registry, stack, trials, versions
from tunbench.runner.declare import access, link, topology
from tunbench.runner.declare.failures import ProofFailed, StackFailed, Unsupported
from tunbench.runner.declare.metrics import BRING_UP, COUNTED, OF_BRING_UP
from tunbench.runner.declare.topology import Pair
from tunbench.runner.declare.tunnel import BARE
from tunbench.runner.declare.verdicts import Verdict
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.handed_over import HandedOver
from tunbench.runner.network import drops, fragment_counters, impairment, kernel_counters, leftovers, tuning
from tunbench.runner.network.access import gateways, portmap
from tunbench.runner.network.network import Network
from tunbench.runner.node.events import Events
from tunbench.runner.node.node import Node
from tunbench.runner.site import Site
from tunbench.runner.trials import FAILURES
from tunbench.runner.workload import Sample, now

MAX_NAMED = 10
"""Things left behind that a warning names at most."""

REST_SECONDS = 0.1
"""Seconds between what the lab tells and what is timed: whoever hears it has then done with it, and the machine rests.
Without them some 10 ms of the controlling process fell into the beginning of each test (docs/decisions.md)."""


class PendingTrials:
    """The trials of a shard that have no verdict yet, the next one first."""

    def __init__(self, spec: HandedOver, events: Events) -> None:
        self.spec = spec
        self.events = events

    @cached_property
    def workloads(self) -> list[str]:
        """Their workloads, which nobody asks for until the stack is up, or has failed."""
        return [BRING_UP, *self.spec["workloads"]]

    def close_next(self, verdict: Verdict, reason: str = "", **fields: Any) -> None:
        """Tells the verdict of the next trial, which is then none of them any more."""
        workload = self.workloads.pop(0)
        self.events.tell(
            "trial", **{"workload": workload, "verdict": verdict, "reason": reason, "ended": now()} | fields
        )

    def close_all(self, verdict: Verdict, reason: Exception, **fields: Any) -> None:
        """Tells the same verdict of all of them."""
        while self.workloads:
            self.close_next(verdict, f"{reason}", samples=[], began=now(), **fields)


def live(handed: Mapping[str, Any], network: Network, events: Events) -> None:
    """Lives through a shard on a network, by what `tunbench.plan.shard.Shard.spec` says of it.

    Each of its trials gets a verdict, whatever happens.
    """
    spec = handed if isinstance(handed, HandedOver) else HandedOver(handed)
    pending = PendingTrials(spec, events)
    under = network.lay_out(
        spec["underlay"],
        topology.read(spec["topology"]),
        link.of_spec(spec["link"]),
        stack.roles(spec["stack"]),
        access.of_spec(spec.get("access", access.NONE)),
        stack.of_global_scope(spec["stack"]),
    )
    try:
        _tell_phase(events, "nodes")
        with network.nodes(under, events) as nodes:
            built_stack = stack.build(
                spec["stack"], under.endpoints, under.topology, under.roles, under.closed, under.asking
            )
            _live_on_nodes(Site(nodes, under, built_stack, spec["seed"]), network, spec, pending, events)
    except FAILURES as reason:
        pending.close_all(Verdict.FAILED, reason)
    except Exception as mistake:
        if not (said := mistaken_file.said_in_lab(mistake)):
            raise
        pending.close_all(Verdict.FAILED, StackFailed(said))
    _tell_phase(events, "end")


def _live_on_nodes(site: Site, network: Network, spec: HandedOver, pending: PendingTrials, events: Events) -> None:
    """Links and tunes the nodes, and watches what leaves the lab while the stack is there."""
    try:
        _tell_phase(events, "underlay")
        network.connect(site.underlay, site.nodes, events)
        tuning.apply(spec["tuning"], site.endpoints, site.hosts, events)
        network.connect_hosts(site.underlay, site.stack.overlay, site.nodes)
        _tell_phase(events, "watch")
        with network.watched(site.nodes, events):
            _live_with_stack(site, spec, pending, events)
    except Unsupported as reason:
        pending.close_all(Verdict.UNSUPPORTED, reason)
    except FAILURES as reason:
        pending.close_all(Verdict.FAILED, reason, logs=_tails(site.nodes.values()))


def _live_with_stack(site: Site, spec: HandedOver, pending: PendingTrials, events: Events) -> None:
    """Brings the stack up and proves it, measures, and looks at what is left when it is down again."""
    _check_reached(site, spec.pairs(site.underlay.topology))
    _tell_phase(events, "prepare")
    stack.prepare(site.stack, site.members)
    fallback_devices = stack.fallback_devices(site.stack)
    looked_at = [*site.members, *(site.nodes[name] for name in site.underlay.between)]
    before = leftovers.snapshot(looked_at, fallback_devices)
    began = _begin(events, "up")
    with _saying_what_was_tried(site), stack.up(site.stack, site.members):
        took = now() - began
        stack.search(site.stack, site.members)
        site = site.with_made()
        _tell_phase(events, "proof")
        proven = [trials.prove(site, pair, events) for pair in spec.pairs(site.underlay.topology)]
        path = ", ".join(dict.fromkeys(filter(None, proven)))
        opened = portmap.opened_before(site.underlay, site.nodes)
        measured = [Sample("connect", took), *(Sample("opened-ports", len(opened[name]), node=name) for name in opened)]
        samples = trials.journaled(measured, OF_BRING_UP, site.pair)
        logs, ended = _tails(site.members), now()
        spec.save()
        pending.close_next(Verdict.OK, samples=samples, began=began, ended=ended, path=path, logs=logs)
        with fragment_counters.watched(site.underlay, site.nodes, site.stack) as fragments:
            _measure(site, spec, pending, events, path, fragments)
        _tell_phase(events, "down")
    if left := sorted(leftovers.snapshot(looked_at, fallback_devices) - before):
        events.tell("warning", name=WarningKind.LEFT_BEHIND, text="; ".join(left[:MAX_NAMED]))
    if spec["repeat"] == 1:
        versions.tell(site.stack, spec["workloads"], site.endpoints[0], events)


@contextmanager
def _saying_what_was_tried(site: Site) -> Iterator[None]:
    """Where a stack fails behind gateways, the reason also says what these have dropped."""
    try:
        yield
    except (StackFailed, ProofFailed) as why:
        if tried := gateways.tried(site.underlay, site.nodes):
            raise type(why)(f"{why}; {tried}") from None
        raise


def _check_reached(site: Site, pairs: Sequence[Pair]) -> None:
    """Raises Unsupported where nothing but a tunnel could reach an endpoint, and there is none."""
    if site.stack.layers[-1].about.name != BARE:
        return
    for pair in pairs:
        if pair.second in site.stack.closed:
            name = site.underlay.gateways[pair.second][0].access.name
            raise Unsupported(
                f"without a tunnel nothing of {pair.client} reaches {pair.server}, whose gateway ({name}) lets in what "
                "answers alone"
            )


def _measure(
    site: Site, spec: HandedOver, pending: PendingTrials, events: Events, path: str, fragments: fragment_counters.Watch
) -> None:
    """Applies the profile, and executes one workload after the other; `path` is that which was proven before."""
    _tell_phase(events, "impair")
    places = impairment.impair(spec["profile"], site.underlay, site.stack.overlay, site.nodes, events)
    kernel = kernel_counters.Watch(site.nodes.values(), site.stack.layers)
    watches = (drops.Watch(places), gateways.Watch(site.underlay, site.nodes), kernel, fragments)
    probes = spec.get("probes", registry.probe_names())
    while pending.workloads:
        workload = pending.workloads[0]
        began = _begin(events, "trial", workload=workload)
        executed = trials.execute(workload, site, probes, events, path)
        ended = now()
        kernel.look()
        beside = kernel.samples(node.name for node in site.members) if executed.samples else []
        paths = path if executed.path is None else executed.path
        path = path if executed.path_after is None else executed.path_after
        logs = _tails([*site.members, *site.hosts])
        pending.close_next(
            executed.verdict,
            executed.reason,
            began=began,
            ended=ended,
            logs=logs,
            samples=[*executed.samples, *trials.journaled(beside, COUNTED, site.pair)],
            outputs=executed.outputs,
            path=paths,
        )
        for watch in watches:
            watch.tell(workload, events)


def _begin(events: Events, phase: str, **fields: Any) -> float:
    """Tells a phase in which something is timed, and returns the moment at which that may begin."""
    _tell_phase(events, phase, **fields)
    time.sleep(REST_SECONDS)
    return now()


def _tell_phase(events: Events, name: str, **fields: Any) -> None:
    events.tell("phase", name=name, at=now(), **fields)


def _tails(some: Iterable[Node]) -> dict[str, str]:
    """The tails of the logs of these nodes."""
    return {name: tail for node in some for name, tail in node.tails().items()}
