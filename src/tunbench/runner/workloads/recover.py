"""How long the overlay is blocked after an event, by a stream of probes that goes on all the time."""

import time
from contextlib import suppress
from typing import NamedTuple

from tunbench.runner import stack
from tunbench.runner.declare.failures import StackFailed, Unsupported, WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.node.command import CommandFailed
from tunbench.runner.node.shell import wait_until
from tunbench.runner.workload import About, Sample, Trial, now
from tunbench.runner.workloads.shared import blocked_time, outages

EVENTS = ("restart", "link", "address", "reboot")

ABOUT = About(
    name="recover",
    summary="a tunnel restarts, a link is cut, an address changes or a node reboots: time without answers",
    options={
        "event": Option("choice", "restart", "what happens, as often as `times` says", choices=EVENTS),
        "times": Option("count", "3", "events", low=1, high=1000),
        "outage": Option("duration", "1s", "how long the link is down, with event=link", low=0.01, high=600),
        "interval": Option("duration", "1ms", "time between two probes", low=0.0005, high=1),
    },
    metrics={
        "blocked": Metric(
            "s",
            "longest time without an answer around an event, less the interval of the probes",
            question=Question.RECOVERS,
            main=True,
        ),
        "outage": Metric(
            "s", "how long the link was down, with event=link", more_is_better=None, question=Question.RECOVERS
        ),
        "recovery": Metric("s", "blocked beyond the outage, with event=link", question=Question.RECOVERS, main=True),
        "lost": Metric("count", "probes of an event that were not answered", question=Question.RECOVERS),
    },
    restarts=True,
)

WITH_TUNNEL = {"restart": "there is no tunnel to restart", "address": "there is no tunnel that could move"}
"""Events that need a tunnel, and why."""

CALM_SECONDS = 0.2
"""Seconds for which probes are answered before an event, and for which they go on after the recovery."""

RECOVERY_TIMEOUT = 60.0
"""Seconds after an event in which a probe must be answered."""


class Event(NamedTuple):
    """One event: when it began and was over, in seconds of the lab's clock, and how long the link was down."""

    began: float
    over: float
    outage: float | None = None


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return float(options["times"]) * (1 + (float(options["outage"]) if options["event"] == "link" else 0))


def busy(options: Options) -> float:
    """About how long it keeps a processor busy, in seconds: probes, and what comes up again."""
    return 0.3 * seconds(options)


def restarts(options: Options) -> int:
    """How often it lets the stack begin again."""
    return int(options["times"])


def execute(trial: Trial) -> None:
    """Lets the event happen to the server, as often as asked."""
    site, event = trial.site, str(trial.options["event"])
    assert site
    if event in WITH_TUNNEL and outages.bare(site):
        raise Unsupported(WITH_TUNNEL[event])
    outages.check_that_nothing_leaks(site)
    if event != "link":
        outages.check_that_netem_stays(site)
    began = now()
    for number in range(int(trial.options["times"])):
        recovered = False
        try:
            with outages.closed(site):
                happened = _endure(trial, event, number)
            trial.samples += parse(trial.outputs[_output(number)], happened, began, float(trial.options["interval"]))
            recovered = True
        finally:
            _tidy(trial, event, recovered)


def _endure(trial: Trial, event: str, number: int) -> Event:
    """Probes while the event happens, until the overlay answers again."""
    interval, name = float(trial.options["interval"]), f"recover-{number}"
    # Whoever moves is the one that talks: the other end cannot know where to.
    prober, other = (trial.server, trial.client) if event == "address" else (trial.client, trial.server)
    overlay, target = trial.overlays[prober.name], trial.overlays[other.name].address
    with blocked_time.ready(prober, overlay, target, interval, name) as log:
        blocked_time.begin(prober, log)
        if not blocked_time.answers(prober, log, stack.ANSWER_TIMEOUT):
            raise WorkloadFailed("the overlay did not answer before the event")
        prober.run("sleep", f"{CALM_SECONDS:g}")
        happened = _happen(trial, event)
        if wait_until(lambda: blocked_time.answered_since(trial.client, log, happened.over), RECOVERY_TIMEOUT):
            time.sleep(CALM_SECONDS)
        prober.note(f"sleep {now() - happened.over:.1f} # so long it took until {log} told of an answer")
    trial.outputs[_output(number)] = trial.client.read(log)
    return happened


def _happen(trial: Trial, event: str) -> Event:
    """Lets the event happen."""
    site, server, outage = trial.site, trial.server, None
    assert site
    began = now()
    match event:
        case "restart":
            outages.restart(site, server)
        case "link":
            outage = outages.cut(site, server, float(trial.options["outage"]))
        case "address":
            # A tunnel with a client has it here: its server is the first endpoint.
            leaf = site.underlay.endpoints[server.name]
            outages.move(server, leaf, outages.other_address(leaf))
        case _:
            outages.reboot(site, server)
    return Event(began, now(), outage)


def _tidy(trial: Trial, event: str, recovered: bool) -> None:
    """Leaves an address and a stack behind on which others can be measured."""
    site = trial.site
    assert site
    if recovered and event != "address":
        return
    # Without a recovery there is a better reason for the verdict than that the stack cannot be had again.
    unimportant = () if recovered else (StackFailed, CommandFailed)
    if event == "address":
        leaf = site.underlay.endpoints[trial.server.name]
        with suppress(*unimportant):
            outages.move(trial.server, outages.other_address(leaf), leaf)
    with suppress(*unimportant):
        stack.restart(site.stack, site.members)


def _output(number: int) -> str:
    return f"probe-{number}.txt"


def parse(text: str, event: Event, began: float, interval: float) -> list[Sample]:
    """The samples of an event, by what the probe told; `began` is when the trial did. Raises WorkloadFailed."""
    seen, at = blocked_time.parse(text), event.began - began
    if not any(moment > event.over for moment in seen.answered):
        raise WorkloadFailed(f"no probe was answered within {RECOVERY_TIMEOUT:g} s after the event")
    blocked_time.check_time(seen, interval, RECOVERY_TIMEOUT)
    blocked_time.check_signs(seen, interval)
    blocked = blocked_time.blocked(seen, event.began, interval)
    samples = [Sample("blocked", blocked, at), Sample("lost", seen.requests - seen.replies, at)]
    if event.outage is not None:
        # The last answer before and the first one after lie within an interval of the outage.
        recovery = max(0.0, blocked - event.outage)
        samples += [Sample("outage", event.outage, at), Sample("recovery", recovery, at)]
    return samples
