"""The time from the start of the whole stack to the first packet that is answered through it."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from tunbench.runner import stack
from tunbench.runner.declare.failures import StackFailed, Unsupported, WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.network.access import tried
from tunbench.runner.network.access.tried import Tried
from tunbench.runner.tunnel import Tunnel
from tunbench.runner.workload import About, Sample, Trial, now
from tunbench.runner.workloads.shared import blocked_time, first_packets, outages
from tunbench.runner.workloads.shared.first_packets import FIRST, FIRST_DIRECT

STATES = ("warm", "cold")

TRIED, TURNED_AWAY = "tried", "turned-away"
"""The metrics of what gateways saw."""

ABOUT = About(
    name="connect",
    summary="the stack is taken down and brought up again: time to the first answer",
    options={
        "times": Option("count", "5", "starts", low=1, high=1000),
        "state": Option("choice", "warm", "what the nodes have learnt is there, or they enrol anew", choices=STATES),
        "interval": Option("duration", "1ms", "time between two probes", low=0.0005, high=1),
    },
    metrics={
        "connect": Metric(
            "s", "from the first command to the first answered packet", question=Question.RECOVERS, main=True
        ),
        FIRST: Metric(
            "s",
            "from the first command to the first packet that a node got through the overlay, where a tunnel has paths",
            question=Question.RECOVERS,
        ),
        FIRST_DIRECT: Metric(
            "s",
            "from the first command to the first packet that came to a node from end to end, where a tunnel has paths",
            question=Question.RECOVERS,
        ),
        TRIED: Metric(
            "count",
            "packets by which something was begun at a gateway, from either side, until the stack was up",
            more_is_better=None,
            question=Question.RECOVERS,
        ),
        TURNED_AWAY: Metric("count", "those of them that the gateway dropped", question=Question.RECOVERS),
    },
    restarts=True,
)


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return 0.5 * float(options["times"])


def restarts(options: Options) -> int:
    """How often it lets the stack begin again."""
    return int(options["times"])


def execute(trial: Trial) -> None:
    """Starts the stack as often as asked. Keys and configuration are there already."""
    assert trial.site
    if outages.bare(trial.site):
        raise Unsupported("there is no tunnel that could connect")
    outages.check_that_nothing_leaks(trial.site)
    outages.check_that_netem_stays(trial.site)
    began = now()
    for number in range(int(trial.options["times"])):
        with outages.closed(trial.site):
            start, text = _start(trial, number, began)
        trial.outputs[f"probe-{number}.txt"] = text
        trial.samples.append(parse(text, start, began))


def _start(trial: Trial, number: int, began: float) -> tuple[float, str]:
    """Takes the stack down and brings it up: the moment at which that begins, and what the uppermost probe told.

    The trial gets the samples of the first packets; it `began` before.
    """
    site, interval = trial.site, float(trial.options["interval"])
    assert site
    stack.lower(site.stack.layers, site.members)
    if trial.options["state"] == "cold":
        stack.forget(site.stack, site.members)
    outages.forget([*site.endpoints, site.nodes[site.underlay.middle]])
    with ExitStack() as probing:
        # Each layer has its own probe, because the next one must not begin before it answers.
        logs = {
            layer: probing.enter_context(
                blocked_time.ready(
                    trial.client,
                    layer.context.above[trial.client.name],
                    layer.context.above[trial.server.name].address,
                    interval,
                    f"connect-{number}-{index}",
                )
            )
            for index, layer in enumerate(site.stack.layers)
        }
        watched = probing.enter_context(first_packets.watched(site, site.pair, f"connect-{number}"))
        counting = probing.enter_context(tried.counting(site.underlay, site.nodes))
        start = now()

        def wait(layer: Tunnel, overlay: Mapping[str, Overlay]) -> None:
            # What is sent before both ends are up would be lost, and repeated after seconds.
            blocked_time.begin(trial.client, logs[layer])
            stack.speak_first(trial.server, layer.context.above, trial.client.name, site.stack.closed)
            blocked_time.wait_for_answer(trial.client, logs[layer], layer)

        try:
            stack.lift(site.stack, site.members, wait)
        except StackFailed as reason:
            vain = tried.dropped(tried.read(counting, site.nodes))
            raise WorkloadFailed(f"start {number + 1}: {reason}{'; ' * bool(vain)}{vain}") from None
        first_packets.wait_for_both(watched)
        trial.samples += first_packets.samples(watched, start, began)
        stack.search(site.stack, site.members)
        _count(trial, number, tried.read(counting, site.nodes), [one.node for one in counting], start - began)
    return start, [trial.client.read(log) for log in logs.values()][-1]


def _count(trial: Trial, number: int, rows: Sequence[Tried], gateways: Sequence[str], at: float) -> None:
    """The samples of what was tried at these gateways, each of which has some, and all of it as an output."""
    for name in gateways:
        here = [row for row in rows if row.gateway == name]
        trial.samples.append(Sample(TRIED, float(sum(row.packets for row in here)), at, name))
        trial.samples.append(Sample(TURNED_AWAY, float(sum(row.dropped for row in here)), at, name))
    if gateways:
        trial.outputs[f"tried-{number}.json"] = tried.as_json(rows)


def parse(text: str, start: float, began: float) -> Sample:
    """The time from `start` to the first answer, with its moment since the trial `began`. Raises WorkloadFailed."""
    seen = blocked_time.parse(text)
    if not seen.gaps or seen.gaps[0].end < start:
        raise WorkloadFailed("no probe was answered after the start")
    return Sample("connect", seen.gaps[0].end - start, start - began)
