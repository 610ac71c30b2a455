"""How long the overlay is blocked after an event, by a stream of probes that goes on all the time."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import NamedTuple

from tunbench.runner import stack
from tunbench.runner.declare.failures import StackFailed, Unsupported, WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.tunnel import About as Declared
from tunbench.runner.node.command import CommandFailed
from tunbench.runner.node.shell import wait_until
from tunbench.runner.site import Site
from tunbench.runner.workload import About, Sample, Trial, now
from tunbench.runner.workloads.shared import blocked_time, blocks, first_packets, new_keys, outages, reboot_all
from tunbench.runner.workloads.shared.first_packets import Watched

EVENTS = (
    *("restart", "link", "address", "reboot", "reboot-all"),
    *("peer-forgets", "nat-rebind", "udp-block", "udp-unblock", "rekey"),
)

ABOUT = About(
    name="recover",
    summary="a tunnel restarts, a link is cut, a peer or a NAT forgets, UDP is blocked: time without answers",
    options={
        "event": Option("choice", "restart", "what happens, as often as `times` says", choices=EVENTS),
        "times": Option("count", "3", "events", low=1, high=1000),
        "outage": Option("duration", "1s", "how long the link is down, with event=link", low=0.01, high=600),
        "interval": Option("duration", "1ms", "time between two probes", low=0.0005, high=1),
    },
    metrics={
        "blocked": Metric(
            "s",
            "longest time without an answer around an event, less the interval of the probes; with event=reboot-all: "
            "of each node, from the start of all until the first of its peers answered",
            question=Question.RECOVERS,
            main=True,
        ),
        "outage": Metric(
            "s", "how long the link was down, with event=link", more_is_better=None, question=Question.RECOVERS
        ),
        "recovery": Metric("s", "blocked beyond the outage, with event=link", question=Question.RECOVERS, main=True),
        "return": Metric(
            "s",
            "with event=udp-unblock: until the first packet that came to a node from end to end",
            question=Question.RECOVERS,
        ),
        "lost": Metric("count", "probes of an event that were not answered", question=Question.RECOVERS),
    },
    restarts=True,
)

NO_UDP = "there is no tunnel that could be blocked"

WITH_TUNNEL = {
    "restart": "there is no tunnel to restart",
    "address": "there is no tunnel that could move",
    "peer-forgets": "there is no tunnel that could forget",
    "udp-block": NO_UDP,
    "udp-unblock": NO_UDP,
}
"""Events that need a tunnel, and why."""

BLOCKING = ("udp-block", "udp-unblock")
"""Events behind which UDP passes again."""

CALM_SECONDS = 0.2
"""Seconds for which probes are answered before an event, and for which they go on after the recovery."""

RECOVERY_TIMEOUT = 60.0
"""Seconds after an event in which a probe must be answered."""

FALLBACK_TIMEOUT, RETURN_TIMEOUT = 300.0, 180.0
"""Seconds in which a tunnel whose UDP is blocked must have found another path, and must be back where it is not any
more. ZeroTier took 3 to 4 minutes for the former in a published study, and IKEv2 gives a silent peer up behind 165 s
(strongSwan: five retransmissions, 4 s and each time 1.8 times as much)."""

PATIENT = ("udp-block", "peer-forgets")
"""Events behind which the former is waited for."""


BUSY_WAITING = 0.1
"""The part of a second that the stream of probes takes, about."""

LASTS = {"peer-forgets": 60.0, "udp-block": 60.0, "udp-unblock": 90.0, "rekey": 130.0, "reboot-all": 5.0}
"""Seconds that an event takes, about; any other one takes 1."""


def recovery_timeout(event: str) -> float:
    """Seconds after an event in which a probe must be answered."""
    return FALLBACK_TIMEOUT if event in PATIENT else RECOVERY_TIMEOUT


class Event(NamedTuple):
    """One event: when it began and was over, in seconds of the lab's clock, and how long the link was down.

    `returned` is when packets came from end to end again.
    """

    began: float
    over: float
    outage: float | None = None
    returned: float | None = None


def misfit(options: Options, abouts: Sequence[Declared]) -> str:
    """Why a stack whose layers declare that cannot be asked; empty where it can."""
    return new_keys.misfit(abouts) if options["event"] == "rekey" else ""


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    event = str(options["event"])
    return float(options["times"]) * (LASTS.get(event, 1.0) + (float(options["outage"]) if event == "link" else 0))


def busy(options: Options) -> float:
    """About how long it keeps a processor busy, in seconds: probes, and what comes up again."""
    return (BUSY_WAITING if options["event"] == "rekey" else 0.3) * seconds(options)


def restarts(options: Options) -> int:
    """How often it lets the stack begin again."""
    return int(options["times"])


def execute(trial: Trial) -> None:
    """Lets the event happen to the server, as often as asked."""
    site, event = trial.site, str(trial.options["event"])
    assert site
    if event in WITH_TUNNEL and outages.bare(site):
        raise Unsupported(WITH_TUNNEL[event])
    if event != "rekey":
        outages.check_that_nothing_leaks(site)
    if event not in ("link", "rekey"):
        outages.check_that_netem_stays(site)
    moved = {"address": [trial.server], "reboot": [trial.server], "reboot-all": site.endpoints}
    for node in moved.get(event, ()):
        outages.check_that_it_moves(site, node)
    if event == "nat-rebind":
        blocks.check_mappings(site, trial.server.name)
    if event in BLOCKING:
        blocks.check_router(site)
    began = now()
    for number in range(int(trial.options["times"])):
        recovered = False
        try:
            with outages.closed(site):
                if event == "reboot-all":
                    reboot_all.measure(trial, f"probe-{number}", began)
                else:
                    trial.samples += _measured(trial, event, number, began)
            recovered = True
        finally:
            _tidy(trial, event, recovered)


def _measured(trial: Trial, event: str, number: int, began: float) -> list[Sample]:
    """Lets the event happen, and says what came of it; the trial `began` before."""
    happened = _endure(trial, event, number)
    text, interval = trial.outputs[_output(number)], float(trial.options["interval"])
    return parse(text, happened, began, interval, recovery_timeout(event))


def _endure(trial: Trial, event: str, number: int) -> Event:
    """Probes while the event happens, until the overlay answers again."""
    interval, name = float(trial.options["interval"]), f"recover-{number}"
    # Whoever moves is the one that talks: the other end cannot know where to.
    prober, other = (trial.server, trial.client) if event == "address" else (trial.client, trial.server)
    overlay, target = trial.overlays[prober.name], trial.overlays[other.name].address
    site = _site(trial)
    with ExitStack() as under_way:
        log = under_way.enter_context(blocked_time.ready(prober, overlay, target, interval, name))
        if blocked := event == "udp-unblock":
            blocks.block_udp(_site(trial), trial.server.name)
        blocked_time.begin(prober, log)
        if not blocked_time.answers(prober, log, FALLBACK_TIMEOUT if event == "udp-unblock" else stack.ANSWER_TIMEOUT):
            without = " without UDP: take event=udp-unblock away where it has no way without" if blocked else ""
            raise WorkloadFailed(f"the overlay did not answer before the event{without}")
        keys = new_keys.seen(site) if event == "rekey" else ""
        prober.run("sleep", f"{CALM_SECONDS:g}")
        seen = [under_way.enter_context(one) for one in _returning(trial, event, name)]
        happened = _happen(trial, event)
        timeout = recovery_timeout(event)
        if wait_until(lambda: blocked_time.answered_since(trial.client, log, happened.over), timeout):
            time.sleep(CALM_SECONDS)
        if seen:
            happened = happened._replace(returned=_returned(seen[0]))
        prober.note(f"sleep {now() - happened.over:.1f} # so long it took until {log} told of an answer")
    if event == "rekey":
        # Not while probes are under way: a command keeps the one core from them.
        new_keys.check(site, keys)
    trial.outputs[_output(number)] = trial.client.read(log)
    return happened


def _site(trial: Trial) -> Site:
    assert trial.site
    return trial.site


def _returning(trial: Trial, event: str, name: str) -> list[AbstractContextManager[Watched]]:
    """The capture in which the return to a direct path shows, where there is something to return to."""
    site = _site(trial)
    if event != "udp-unblock" or not first_packets.has_several_paths(site):
        return []
    return [first_packets.direct(site, site.pair, trial.server.name, name)]


def _returned(watched: Watched) -> float:
    """Waits for the first direct packet: its moment. Raises WorkloadFailed."""
    wait_until(lambda: first_packets.moment(watched) is not None, RETURN_TIMEOUT, 0.1)
    moment = first_packets.moment(watched)
    if moment is None:
        raise WorkloadFailed(f"no packet came from end to end within {RETURN_TIMEOUT:g} s after the event")
    return moment


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
        case "peer-forgets":
            outages.lose_state(site, server)
        case "nat-rebind":
            blocks.forget_mappings(site, server.name)
        case "udp-block":
            blocks.block_udp(site, server.name)
        case "udp-unblock":
            blocks.let_udp_pass(site)
        case "rekey":
            new_keys.renew(site)
        case _:
            outages.reboot(site, server)
    return Event(began, now(), outage)


def _tidy(trial: Trial, event: str, recovered: bool) -> None:
    """Leaves an address and a stack behind on which others can be measured."""
    site = trial.site
    assert site
    if event in BLOCKING:
        blocks.tidy(site)
        if recovered:
            stack.search(site.stack, site.members)
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


def parse(text: str, event: Event, began: float, interval: float, timeout: float = RECOVERY_TIMEOUT) -> list[Sample]:
    """The samples of an event, by what the probe told; `began` is when the trial did. Raises WorkloadFailed."""
    seen, at = blocked_time.parse(text), event.began - began
    if not any(moment > event.over for moment in seen.answered):
        raise WorkloadFailed(f"no probe was answered within {timeout:g} s after the event")
    blocked_time.check_time(seen, interval, timeout + (RETURN_TIMEOUT if event.returned else 0))
    blocked_time.check_signs(seen, interval)
    blocked = blocked_time.blocked(seen, event.began, interval)
    samples = [Sample("blocked", blocked, at), Sample("lost", seen.requests - seen.replies, at)]
    if event.outage is not None:
        # The last answer before and the first one after lie within an interval of the outage.
        recovery = max(0.0, blocked - event.outage)
        samples += [Sample("outage", event.outage, at), Sample("recovery", recovery, at)]
    if event.returned is not None:
        samples.append(Sample("return", max(0.0, event.returned - event.began), at))
    return samples
