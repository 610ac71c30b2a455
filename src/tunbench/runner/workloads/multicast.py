"""Datagrams to a group that the other ends have joined: which of them arrive, and how long they take."""

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.node import python
from tunbench.runner.node.node import Node
from tunbench.runner.site import Site
from tunbench.runner.stack import Stack
from tunbench.runner.workload import About, Sample, Trial
from tunbench.runner.workloads.shared import multicast_stream, outages
from tunbench.runner.workloads.shared.listener import listening
from tunbench.runner.workloads.shared.output_bounds import COUNT, COUNTER, last_words

ABOUT = About(
    name="multicast",
    summary="datagrams to a group that all other ends have joined: which arrive, and their one-way delay",
    options={
        "count": Option("count", "100", "datagrams to send", low=1, high=100_000),
        "interval": Option("duration", "10ms", "time between two datagrams", low=0.0001, high=60),
        "length": Option("size", "1000", "payload of a datagram in bytes", low=16, high=65507),
    },
    metrics={
        "loss": Metric(
            "ratio",
            "datagrams that did not arrive, at each of the other ends; 1 where nothing is carried",
            question=Question.LATE,
            followed=True,
            at_a_glance=True,
        ),
        "duplicates": Metric("count", "datagrams that arrived twice", question=Question.LATE),
        "refused": Metric("count", "datagrams that the sender's kernel did not take", question=Question.LATE),
        "one-way-delay": Metric("s", "time from sending a datagram until it is read", followed=True),
    },
)

PORT = 5007
GROUPS = {4: "239.255.77.77", 6: "ff15::7777"}
"""A group of the local scope, and a transient one of a site, by address family: RFC 2365 (6.1), RFC 4291 (2.7)."""

READY_TIMEOUT = 20.0
"""Seconds in which a receiver must have joined."""

LINGER = 0.5
"""Seconds for which datagrams may be under way when all have been sent."""

SENT = re.compile(rf"^sent ({COUNT}) ({COUNT})$", re.ASCII | re.MULTILINE)
GOT = re.compile(rf"^got ({COUNT}) ({COUNTER}) ({COUNTER})$", re.ASCII | re.MULTILINE)


class Heard(NamedTuple):
    """A datagram: its number, and when it was sent and read, in nanoseconds of the lab's clock."""

    number: int
    sent: int
    arrived: int


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return 1.0 + float(options["count"]) * float(options["interval"])


def busy(options: Options) -> float:
    """About how long it keeps a processor busy, in seconds: Python starts on each node."""
    return 0.2 + 0.0002 * float(options["count"])


def execute(trial: Trial) -> None:
    """Lets all other ends join, sends, and waits for what is under way."""
    if trial.site and trial.site.underlay.topology.hosts:
        raise Unsupported("no endpoint routes multicast between the hosts behind them: take another topology")
    if trial.site and (around := goes_around(trial.site)):
        raise Unsupported(f"{around} takes no multicast here, which would go around it, in the clear of it")
    count, sender = int(trial.options["count"]), trial.client
    program = sender.home / "multicast.py"
    sender.write(program, python.source(multicast_stream))
    with ExitStack() as listening:
        receivers = _receivers(trial)
        for node in receivers:
            listening.enter_context(_listening(trial, node, str(program)))
        result = sender.try_run(
            *(*sender.python, str(program), "send", *_where(trial, sender), str(count)),
            *(f"{float(trial.options['interval']):g}", str(trial.options["length"])),
            timeout=2 * seconds(trial.options) + 20,
        )
        sender.run("sleep", f"{LINGER:g}")
    trial.outputs["sent.txt"] = result.stdout + result.stderr
    trial.samples.append(Sample("refused", refused(trial.outputs["sent.txt"], count)))
    for node in receivers:
        trial.outputs[f"heard-{node.name}.txt"] = node.read(node.log(_log(trial)))
        trial.samples += parse(trial.outputs[f"heard-{node.name}.txt"], count, node.name)
    _check_claim(trial)


def refused(text: str, count: int) -> int:
    """The datagrams that the sender's kernel did not take. Raises WorkloadFailed."""
    found = SENT.fullmatch(text.strip())
    if not found or int(found[1]) != count or int(found[2]) > count:
        raise WorkloadFailed(f"the sender did not send all: {last_words(text)}")
    return int(found[2])


def parse(text: str, count: int, node: str = "") -> list[Sample]:
    """What arrived at a node of so many datagrams. Raises WorkloadFailed."""
    first, *lines = text.splitlines() or [""]
    heard = [Heard(*map(int, found)) for found in GOT.findall(text)]
    if first != "ready" or len(heard) != len(lines):
        raise WorkloadFailed(f"the receiver told what makes no sense: {last_words(text)}")
    once = {one.number: one for one in reversed(heard)}
    if any(not 1 <= one.number <= count or one.arrived < one.sent for one in heard):
        raise WorkloadFailed("datagrams arrived that were never sent, or before they were")
    began = min((one.sent for one in heard), default=0)
    return [
        Sample("loss", 1 - len(once) / count, node=node),
        Sample("duplicates", len(heard) - len(once), node=node),
        *(
            Sample("one-way-delay", (one.arrived - one.sent) / 1e9, round((one.sent - began) / 1e9, 6), node)
            for _, one in sorted(once.items())
        ),
    ]


def _check_claim(trial: Trial) -> None:
    """Raises WorkloadFailed where all layers claim to carry multicast, and none arrived anywhere."""
    nothing = all(one.value == 1 for one in trial.samples if one.metric == "loss")
    if nothing and trial.site and carries(trial.site.stack):
        raise WorkloadFailed(f"{trial.site.stack.spelling} claims to carry multicast, and nothing arrived")


def carries(stack: Stack) -> bool:
    """Whether a stack claims to carry multicast: what its uppermost layer does with it, those below never see."""
    return stack.layers[-1].declared.multicast


def goes_around(site: Site) -> str:
    """The layer past which multicast would get to the other end: by the interface that policies share with it.

    What stands on such a layer has an interface of its own, and its packets are for the other endpoint's address.
    """
    first = site.endpoints[0].name
    sent_by = site.stack.overlay[first].interface
    for layer in [] if outages.bare(site) else site.stack.layers:
        shared = layer.context.above[first].interface == sent_by
        if shared and not layer.declared.multicast and outages.leaks(site, layer):
            return layer.about.name
    return ""


def _receivers(trial: Trial) -> Sequence[Node]:
    """All other endpoints; of hosts behind them the other one."""
    ends = trial.site.endpoints if trial.site else []
    if trial.client.name not in [node.name for node in ends]:
        return [trial.server]
    return [node for node in ends if node.name != trial.client.name]


def _where(trial: Trial, node: Node) -> list[str]:
    overlay = trial.overlays[node.name]
    return [str(overlay.family), overlay.interface, GROUPS[overlay.family], trial.port(PORT)]


def _log(trial: Trial) -> str:
    return f"multicast-{trial.port(PORT)}"


@contextmanager
def _listening(trial: Trial, node: Node, program: str) -> Iterator[None]:
    """A receiver on a node, from when it has joined; it ends by itself, so that all it heard is told."""
    argv, what = (*node.python, program, "receive", *_where(trial, node)), f"the receiver on {node.name} did not join"
    with listening(node, *argv, log=_log(trial), within=READY_TIMEOUT, what=what):
        yield
