"""Executes a workload between the pairs of nodes that it asks for, and makes one verdict of what came of it."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from tunbench.runner import bounds, invocation, mistaken_file, probe, stack
from tunbench.runner.declare.failures import ProofFailed, StackFailed, Unsupported, WorkloadFailed
from tunbench.runner.declare.metrics import Metric
from tunbench.runner.declare.options import Options
from tunbench.runner.declare.path import MIXED, demanded
from tunbench.runner.declare.topology import Pair, Topology
from tunbench.runner.declare.verdicts import WORST_FIRST, Verdict
from tunbench.runner.declare.warnings import WarningKind
from tunbench.runner.invocation import Invocation
from tunbench.runner.network import relays
from tunbench.runner.node import limits
from tunbench.runner.node.command import CommandFailed
from tunbench.runner.node.events import Events
from tunbench.runner.node.shell import Process, wait_until
from tunbench.runner.proof import claims, path_series, proof
from tunbench.runner.proof.path_series import Stretch
from tunbench.runner.site import Site
from tunbench.runner.workload import Sample, Trial, now

FAILURES = (
    *(CommandFailed, StackFailed, ProofFailed, WorkloadFailed),
    *(OSError, ValueError, ArithmeticError, RecursionError),
)
"""What makes a verdict `failed`, the last two where one cannot calculate with what was printed, or show it.

Anything else is a mistake in a tunnel's, workload's or probe's file, which fails too, or one of ours, which ends the
runner with a traceback.
"""


class Judgement(NamedTuple):
    """A verdict, and its reason if it is not `ok`."""

    verdict: Verdict
    reason: str = ""


OK = Judgement(Verdict.OK)


class Executed(NamedTuple):
    """What came of a workload, as the journal has it: its samples have the columns that `journaled` says.

    `path` is that which packets took, where it was seen or proven anew, and `path_after` that which they took last:
    both are empty where a proof failed, and None where nobody looked.
    """

    verdict: Verdict
    reason: str
    samples: list[list[Any]]
    outputs: dict[str, str]
    path: str | None = None
    path_after: str | None = None


MAX_NAMED = 5
"""Values that cannot be, of which a reason tells."""

DEATH_NOTICE_TIME = 0.2
"""Seconds within which a daemon is seen to have ended by what made a workload fail: all processes may have ended."""


def pairs_of(workloads: Sequence[str], topology: Topology) -> list[Pair]:
    """All pairs between which the workloads run, the usual one first."""
    used = (pair for text in workloads for pair in invocation.read(text).pairs(topology))
    return list(dict.fromkeys([topology.pairs[0], *used]))


def prove(site: Site, pair: Pair, events: Events, least: int = proof.ALL_ECHOES) -> str:
    """Waits until the pair can talk, proves how by at least so many packets, and returns the paths that they took.

    Raises StackFailed and ProofFailed.
    """
    try:
        return _prove(site, pair, events, least)
    except FAILURES as why:
        # That a daemon is gone says more than what is not seen any more.
        if (ended := _check_stack(site)) != OK:
            raise StackFailed(f"{ended.reason}; {why}") from None
        raise


def _prove(site: Site, pair: Pair, events: Events, least: int) -> str:
    client, target = site.nodes[pair.client], site.overlays[pair.server].address
    stack.speak_first(site.nodes[pair.server], site.overlays, pair.client, site.stack.closed)
    if not client.until("ping", "-n", "-c", "1", "-W", "0.5", target, timeout=stack.ANSWER_TIMEOUT):
        raise StackFailed(f"{pair.server} did not answer {pair.client} within {stack.ANSWER_TIMEOUT:g} s")
    prefix = "" if pair == site.pair else f"{pair.name}-"
    findings = proof.prove(claims.of_stack(site, pair), client, target, events, prefix, least)
    events.tell("proof", pair=pair.name, findings=[finding._asdict() for finding in findings])
    taken = dict.fromkeys((one.layer, one.path, one.through) for one in findings if one.path)
    for layer, path, through in taken:
        events.tell("path", pair=pair.name, layer=layer, path=path, through=through)
    return ", ".join(path for _, path, _ in taken)


def execute(workload: str, site: Site, probes: Sequence[str], events: Events, proven: str) -> Executed:
    """Executes a workload between all pairs that it asks for; `proven` is the path that was seen before it.

    After one that takes the tunnel down the proof is repeated, and without it no sample counts.
    """
    what = invocation.read(workload)
    ways = _choice(site, what.pairs(site.underlay.topology), proven)
    if not ways:
        return _execute_beside_relays(workload, what, site, probes, events)
    before = _daemons(site)
    with path_series.watched(site.underlay, site.nodes, site.pair, ways) as counted:
        executed = _execute_beside_relays(workload, what, site, probes, events)
    if _daemons(site) != before:
        # It began anew, and enrolled: a control plane then says more than a relay, on the same port.
        return executed
    stretches = path_series.found(counted, {proven, executed.path or proven}, executed.path)
    return with_paths(executed, workload, stretches, events)


def _daemons(site: Site) -> dict[str, list[Process]]:
    """The daemons of the lowest layer that run now, by node."""
    return {name: list(some) for name, some in site.stack.layers[0].daemons.items()}


def _choice(site: Site, pairs: Sequence[Pair], proven: str) -> list[claims.Way]:
    """The ways among which packets of a workload choose; none where a plan demands one, or it cannot be known which.

    That is so where several pairs, or several layers, have a path each.
    """
    ways = claims.ways(site.stack.layers[0], site.pair)
    known = proven in (MIXED, *(way.path for way in ways))
    return ways if len(ways) > 1 and known and list(pairs) == [site.pair] else []


def with_paths(executed: Executed, workload: str, stretches: list[Stretch], events: Events) -> Executed:
    """The same, with the paths that packets were seen to take while it lasted."""
    if not stretches:
        return executed
    medians = path_series.split(stretches, executed.samples)
    events.tell("stretches", workload=workload, stretches=[list(one) for one in stretches], medians=medians)
    words = path_series.said(stretches)
    if len(stretches) > 1:
        text = "; ".join([f"{workload}: {words}", *(_in_each(name, parts) for name, parts in medians.items())])
        events.tell("warning", name=WarningKind.PATH_CHANGED, text=text)
    if executed.path == "":
        # Nothing is believed of a path behind a proof that failed.
        return executed
    after = stretches[-1].path if executed.path_after is None else executed.path_after
    return executed._replace(path=words, path_after=after)


def _in_each(metric: str, medians: Sequence[float | None]) -> str:
    """The medians of a metric, in the order of the stretches."""
    return f"median {metric}: {', '.join('-' if one is None else f'{one:.4g}' for one in medians)}"


def _execute_beside_relays(
    workload: str, what: Invocation, site: Site, probes: Sequence[str], events: Events
) -> Executed:
    pairs = what.pairs(site.underlay.topology)
    if what.module.ABOUT.restarts:
        # The interfaces that are counted do not outlive it.
        return _execute(what, pairs, site, (), events)
    with relays.watched(workload, site.underlay, site.nodes, events, demanded_relays(site)):
        return _execute(what, pairs, site, probes, events)


def demanded_relays(site: Site) -> set[str]:
    """The nodes that carry packets because a plan demands it."""
    layers = [(layer.declared.paths, demanded(layer.options)) for layer in site.stack.layers]
    return {paths[asked].through for paths, asked in layers if asked}


def _execute(what: Invocation, pairs: Sequence[Pair], site: Site, probes: Sequence[str], events: Events) -> Executed:
    trials = [_trial(what.options, site, pair, number * what.together) for number, pair in enumerate(pairs)]
    began = now()
    by_pair = dict(zip((pair.name for pair in pairs), _attempts(what, trials, probes), strict=True))
    metrics = {**probe.metrics(probes), **what.module.ABOUT.metrics}
    plausible = _check_bounds(trials, metrics, max(now() - began, what.seconds))
    proven, path = _prove_again(site, events) if what.module.ABOUT.restarts else (OK, None)
    some_failed = any(one.verdict == Verdict.FAILED for one in by_pair.values())
    alive = _check_stack(site, DEATH_NOTICE_TIME if some_failed else 0)
    judgements = {**by_pair, "what was measured": plausible, "the proof afterwards": proven, "the stack": alive}
    measured = list(zip(pairs, trials, strict=True)) if proven == plausible == OK else []
    return Executed(
        min((one.verdict for one in judgements.values()), key=WORST_FIRST.index),
        _reason(judgements, alone=len(pairs) == 1),
        [row for pair, trial in measured for row in journaled(trial.samples, metrics, pair)],
        _outputs(pairs, trials),
        path,
        path,
    )


def _outputs(pairs: Sequence[Pair], trials: Sequence[Trial]) -> dict[str, str]:
    """The raw outputs by their name, with that of the pair before it where there are several."""
    return {
        name if len(pairs) == 1 else f"{pair.name}-{name}": text
        for pair, trial in zip(pairs, trials, strict=True)
        for name, text in trial.outputs.items()
    }


def journaled(samples: Sequence[Sample], metrics: Mapping[str, Metric], pair: Pair) -> list[list[Any]]:
    """Samples as the journal has them: metric, unit, value, moment, pair and node."""
    return [
        [one.metric, metrics[one.metric].unit, one.value, one.at, pair.name, one.node or pair.client] for one in samples
    ]


def _trial(options: Options, site: Site, pair: Pair, number: int) -> Trial:
    client, server = site.nodes[pair.client], site.nodes[pair.server]
    return Trial(options, client, server, site.overlays, claims.views(site, pair), number, site)


def _attempts(what: Invocation, trials: Sequence[Trial], probes: Sequence[str]) -> list[Judgement]:
    """Executes all trials, with the probes before and after what is under way at once."""
    attempt = partial(_attempt, what, limits.WORKLOAD_OVERTIME + 10 * what.seconds)
    if not what.together:
        return [attempt(trial, probes) for trial in trials]
    with probe.probing(probes, *trials), ThreadPoolExecutor(len(trials)) as several:
        return list(several.map(attempt, trials))


def _attempt(what: Invocation, limit: float, trial: Trial, probes: Sequence[str] = ()) -> Judgement:
    about = what.module.ABOUT
    try:
        for program in (*about.programs, *what.needs.programs, *what.needs.brought):
            stack.require(trial.client, program, what.needs, about.sources, f"docs/workloads.md#{about.name}")
        with probe.probing(probes, trial), limits.within(limit):
            what.module.execute(trial)
            if not trial.samples:
                raise WorkloadFailed("it ended without a result")
    except Unsupported as why:
        return Judgement(Verdict.UNSUPPORTED, str(why))
    except FAILURES as why:
        return Judgement(Verdict.FAILED, str(why))
    except Exception as mistake:
        if not (said := mistaken_file.said_in_lab(mistake)):
            raise
        return Judgement(Verdict.FAILED, said)
    return OK


def _check_bounds(trials: Sequence[Trial], metrics: Mapping[str, Metric], lasted: float) -> Judgement:
    """Whether all that was measured in so many seconds can be; where it cannot, none of it is believed."""
    wrong = [what for trial in trials for what in bounds.impossible(trial.samples, metrics, lasted)]
    return Judgement(Verdict.FAILED, f"what was measured cannot be: {', '.join(wrong[:MAX_NAMED])}") if wrong else OK


def _prove_again(site: Site, events: Events) -> tuple[Judgement, str]:
    """The proof once more, under the profile, which may lose packets of it: one of five echoes is enough.

    The second value is the path that packets took.
    """
    events.tell("phase", name="proof", at=now())
    try:
        return OK, prove(site, site.pair, events, least=2)
    except FAILURES as why:
        return Judgement(Verdict.FAILED, str(why)), ""


def _check_stack(site: Site, timeout: float = 0) -> Judgement:
    """Whether a daemon of the stack has ended or fills a log: what was measured is not of the stack that was asked for.

    A daemon ends where nobody asked it to, for which `timeout` seconds are waited, and a log is full where it has
    grown as far as it may.
    """
    wait_until(lambda: any(layer.ended() for layer in site.stack.layers), timeout)
    ended = [f"{layer.about.name}: {how}" for layer in site.stack.layers if (how := layer.ended())]
    ended += [how for node in site.nodes.values() if (how := node.cut_logs())]
    return Judgement(Verdict.FAILED, "; ".join(ended)) if ended else OK


def _reason(judgements: Mapping[str, Judgement], alone: bool) -> str:
    """Why it is not `ok`: of each pair, where there are several."""
    reasons = {name: one.reason for name, one in judgements.items() if one.reason}
    return "; ".join(reason if alone else f"{name}: {reason}" for name, reason in reasons.items())
