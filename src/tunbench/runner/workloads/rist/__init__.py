"""Video over RIST: a numbered transport stream, of which librist asks again for what is missing."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.declare.tunnel import Addon, Needs, Sources
from tunbench.runner.node import python
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Process, wait_until
from tunbench.runner.workload import About, Sample, Trial
from tunbench.runner.workloads.rist import numbered_stream, report
from tunbench.runner.workloads.shared.listener import listening
from tunbench.runner.workloads.shared.output_bounds import last_words
from tunbench.runner.workloads.shared.server_process import serving

RIST_TOOLS = Addon("rist", ("rist-tools",))

ABOUT = About(
    name="rist",
    summary="video by librist (RIST, main profile): what a viewer gets of a numbered stream, and what was recovered",
    options={
        "rate": Option("rate", "3.3M", "bits a second of the stream", low=1e5, high=5e7),
        "duration": Option("seconds", "10", "whole seconds to send", low=1, high=3600),
        "buffer": Option(
            "duration", "1s", "time that the receiver keeps packets back, to ask again", low=0.05, high=30
        ),
    },
    metrics={
        "delivered": Metric(
            "ratio",
            "datagrams of the stream that a viewer gets, by their numbers",
            more_is_better=True,
            question=Question.LATE,
            main=True,
            followed=True,
            at_a_glance=True,
        ),
        "quality": Metric(
            "ratio",
            "received by received and missing, as librist counts before it recovers; with a moment: in that second",
            more_is_better=True,
            question=Question.LATE,
        ),
        "recovered": Metric(
            "count", "missing packets that came when they were asked for again", None, question=Question.LATE
        ),
        "unrecovered": Metric("count", "missing packets that librist gave up as lost", question=Question.LATE),
        "retries": Metric("count", "times that the receiver asked again for a packet", question=Question.LATE),
        "rtt": Metric(
            "s", "round-trip time as librist measures it, each second", main=True, followed=True, at_a_glance=True
        ),
    },
    sources=Sources({"ristsender": "rist-tools", "ristreceiver": "rist-tools"}, addons=(RIST_TOOLS,)),
)

PORT, SENDER_PORT, VIEWER_PORT = 40052, 41052, 42052
"""Where the receiver listens, and of each end the one of the loopback address by which the stream goes in and out."""

START_TIMEOUT = 20.0
"""Seconds in which the two programs must have found each other, and in which the viewer must listen."""

STATISTICS_INTERVAL = 1.0
"""Seconds between two lines of statistics."""

CONNECTED = "Connection Status changed"
"""What both programs say when they have heard of each other."""


def needs(options: Options) -> Needs:
    """What it needs beyond the base image."""
    return Needs(programs=tuple(ABOUT.sources.packages), addons=(RIST_TOOLS.name,))


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return float(options["duration"]) + linger(options) + 1.0


def busy(options: Options) -> float:
    """About how long it keeps a processor busy, in seconds: librist wakes each 5 ms at both ends."""
    return 0.1 + seconds(options) * (0.03 + float(options["rate"]) * 1e-8)


def linger(options: Options) -> float:
    """Seconds for which packets may be kept back, and statistics be printed, when all have been sent."""
    return float(options["buffer"]) + 2 * STATISTICS_INTERVAL


def execute(trial: Trial) -> None:
    """Lets a viewer watch, sends the stream, and compares what arrived with what was sent."""
    client, options = trial.client, trial.options
    program = client.home / "numbered_stream.py"
    client.write(program, python.source(numbered_stream))
    with ExitStack() as running:
        got = running.enter_context(_viewer(trial, str(program)))
        receiver = running.enter_context(_receiver(trial))
        sender = running.enter_context(_sender(trial))
        _check_connected(trial, sender)
        result = client.try_run(
            *(*client.python, str(program), "send", trial.port(SENDER_PORT), f"{float(options['rate']):.0f}"),
            str(options["duration"]),
            timeout=2 * seconds(options) + 20,
        )
        trial.outputs["sent.txt"] = result.stdout + result.stderr
        client.run("sleep", f"{linger(options):g}")
        ended = [name for name, one in (("ristsender", sender), ("ristreceiver", receiver)) if one.poll() is not None]
    trial.outputs["viewer.txt"] = trial.server.read(got)
    trial.outputs["ristsender.txt"] = client.read(client.log(_log("ristsender", trial)))
    trial.outputs["ristreceiver.txt"] = trial.server.read(trial.server.log(_log("ristreceiver", trial)))
    sent = report.sent(trial.outputs["sent.txt"])
    # What the viewer got stands, whatever comes of librist's own count.
    trial.samples += parse(trial.outputs["viewer.txt"], sent)
    try:
        trial.samples += report.of_receiver(trial.outputs["ristreceiver.txt"], sent)
    except WorkloadFailed:
        # One that died may have ended within a line.
        if not ended:
            raise
    if ended:
        raise WorkloadFailed(f"{ended[0]} ended before the stream did: {last_words(trial.outputs[f'{ended[0]}.txt'])}")
    if not any(one.metric == "delivered" and one.value for one in trial.samples):
        raise WorkloadFailed(f"nothing of the stream arrived, of {sent} datagrams of {numbered_stream.SIZE} B")


def parse(viewed: str, sent: int) -> list[Sample]:
    """What the viewer got of so many datagrams. Raises WorkloadFailed."""
    return report.of_viewer(viewed, sent)


def _log(name: str, trial: Trial) -> str:
    return f"{name}-{trial.port(PORT)}"


def _url(host: str, trial: Trial, listening: str = "") -> str:
    return f"rist://{listening}{host}:{trial.port(PORT)}?buffer={1000 * float(trial.options['buffer']):.0f}"


@contextmanager
def _viewer(trial: Trial, program: str) -> Iterator[Path]:
    """What a player would be, from when it listens: the file of what it heard."""
    node, name = trial.server, _log("viewer", trial)
    argv, what = (*node.python, program, "receive", trial.port(VIEWER_PORT)), "the viewer did not listen"
    with listening(node, *argv, log=name, within=START_TIMEOUT, what=what) as told:
        yield told


@contextmanager
def _receiver(trial: Trial) -> Iterator[Process]:
    url = _url(trial.overlays[trial.server.name].local_host, trial, "@")
    out = f"udp://127.0.0.1:{trial.port(VIEWER_PORT)}"
    with _program(trial.server, trial, "ristreceiver", url, out, trial.port(PORT)) as process:
        yield process


@contextmanager
def _sender(trial: Trial) -> Iterator[Process]:
    port = trial.port(SENDER_PORT)
    url = _url(trial.overlays[trial.server.name].host, trial)
    with _program(trial.client, trial, "ristsender", f"udp://@127.0.0.1:{port}", url, port) as process:
        yield process


@contextmanager
def _program(node: Node, trial: Trial, name: str, takes: str, gives: str, port: str) -> Iterator[Process]:
    log = _log(name, trial)
    node.remove(node.log(log))
    every = f"{1000 * STATISTICS_INTERVAL:.0f}"
    arguments = ("-i", takes, "-o", gives, "-S", every, "-p", "1", "-v", "6")
    with serving(node, name, *arguments, log=log, port=port, proto="udp") as process:
        yield process


def _check_connected(trial: Trial, sender: Process) -> None:
    """Waits until the sender has found the receiver. Raises WorkloadFailed where it does not, or ends before."""
    log = trial.client.log(_log("ristsender", trial))
    wait_until(lambda: CONNECTED in trial.client.read(log) or sender.poll() is not None, START_TIMEOUT)
    text = trial.client.read(log)
    if CONNECTED in text:
        return
    trial.outputs["ristsender.txt"] = text
    if sender.poll() is not None:
        raise WorkloadFailed(f"the stream did not start: ristsender ended: {last_words(text)}")
    raise WorkloadFailed(f"the stream did not start: no receiver answered ristsender within {START_TIMEOUT:g} s")
