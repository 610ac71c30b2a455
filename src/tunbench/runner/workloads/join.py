"""What it costs all others when one more node joins: what they send and compute until some time after it has."""

from collections.abc import Sequence

from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import wait_until
from tunbench.runner.site import Site
from tunbench.runner.stack import ANSWER_TIMEOUT
from tunbench.runner.workload import About, Sample, Trial, now
from tunbench.runner.workloads.shared import blocked_time, outages
from tunbench.runner.workloads.shared.node_counters import Counters, between, computed, state

ABOUT = About(
    name="join",
    summary="the last node enrols anew: time until it is answered, and what that costs all the others",
    options={
        "times": Option("count", "3", "how often it joins", low=1, high=1000),
        "settle": Option("duration", "5s", "time after the first answer that still counts", low=0.1, high=600),
        "interval": Option("duration", "10ms", "time between two probes", low=0.0005, high=1),
    },
    metrics={
        "join": Metric(
            "s",
            "from the first command on the joining node until the first one answered it",
            question=Question.RECOVERS,
            main=True,
        ),
        "join-bytes": Metric(
            "B",
            "bytes that all other endpoints together sent between the nodes until it had settled",
            question=Question.WIRE,
        ),
        "join-cpu": Metric(
            "s",
            "processor time of the processes of all other endpoints until it had settled",
            question=Question.COSTLY,
            summed_over_cores=True,
        ),
    },
    restarts=True,
)

AWAY_SECONDS = 1.0
"""Seconds for which the node is away before it joins: what its going away costs is over."""


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return float(options["times"]) * (AWAY_SECONDS + 0.5 + float(options["settle"]))


def busy(options: Options) -> float:
    """About how long it keeps a processor busy, in seconds: what comes up, and probes."""
    return 0.6 * float(options["times"])


def restarts(options: Options) -> int:
    """How often it lets the stack begin again."""
    return int(options["times"])


def execute(trial: Trial) -> None:
    """Lets the last endpoint go away and join again, as often as asked."""
    site = trial.site
    assert site
    if outages.bare(site):
        raise Unsupported("there is no tunnel that could be joined")
    for layer in site.stack.layers:
        if not layer.about.rejoins:
            raise Unsupported(f"{layer.about.name} gives the place of an endpoint that has left to no other one")
    outages.check_that_nothing_leaks(site)
    outages.check_that_netem_stays(site)
    began = now()
    for number in range(int(trial.options["times"])):
        with outages.closed(site):
            trial.samples += _joined(trial, site, number, began)


def _joined(trial: Trial, site: Site, number: int, began: float) -> list[Sample]:
    """The samples of one time; the trial `began` before."""
    *others, newcomer = site.endpoints
    outages.leave(site, newcomer)
    newcomer.run("sleep", f"{AWAY_SECONDS:g}")
    before, started = _looks(others, began), now()
    with blocked_time.ready(
        newcomer,
        site.stack.overlay[newcomer.name],
        site.stack.overlay[others[0].name].address,
        float(trial.options["interval"]),
        f"join-{number}",
    ) as log:
        ready = now()
        blocked_time.begin(newcomer, log)
        outages.bring_up(site, newcomer)
        wait_until(lambda: blocked_time.answered_since(newcomer, log, 0), ANSWER_TIMEOUT, 0.005)
    text = trial.outputs[f"probe-{number}.txt"] = newcomer.read(log)
    settle = float(trial.options["settle"])
    newcomer.run("sleep", f"{settle:g}", timeout=settle + 30)
    return parse(text, ready, started - began, before, _looks(others, began))


def parse(text: str, started: float, at: float, before: Sequence[Counters], after: Sequence[Counters]) -> list[Sample]:
    """The samples of a join, by what the probe told and by two looks at each other node. Raises WorkloadFailed."""
    seen = blocked_time.parse(text)
    if not seen.gaps or seen.gaps[0].end < started:
        raise WorkloadFailed(f"no node answered the one that joined within {ANSWER_TIMEOUT:g} s")
    pairs = between(before, after)
    return [
        Sample("join", seen.gaps[0].end - started, at),
        Sample("join-bytes", sum(new.bytes - old.bytes for old, new in pairs), at),
        Sample("join-cpu", sum(computed(old, new) for old, new in pairs) / 1e9, at),
    ]


def _looks(nodes: Sequence[Node], began: float) -> list[Counters]:
    return [state(node, began) for node in nodes]
