"""The bytes that a stack adds to a packet, measured below each of its layers."""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack

from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.declare.metrics import Bounds, Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.proof import capture
from tunbench.runner.workload import About, Sample, Trial
from tunbench.runner.workloads.shared.icmp import REPLY_TIMEOUT, packet_size, payload_size

ABOUT = About(
    name="overhead",
    summary="the size of echo requests below each layer: what the stack adds on the wire",
    options={
        "payload": Option("size", "512", "payload of the echo request in bytes", low=0, high=65487),
        "full": Option("switch", "off", "as much payload as the MTU of the overlay allows"),
    },
    metrics={
        "overhead": Metric(
            "B",
            "bytes of a packet between the nodes beyond those that it has in the overlay",
            question=Question.WIRE,
            main=True,
            # A layer that compresses makes packets smaller.
            bounds=Bounds(-65_535, 65_535),
        )
    },
    programs={"ping": "iputils-ping", "tcpdump": "tcpdump"},
    version=("ping", "-V"),
)

ECHOES = 9
"""Requests of one size: the largest size that is seen for most of them below a layer is theirs.

A tunnel's own packets are fewer: tinc sends three probes of one size at once (1.0.36, src/net_packet.c).
"""

SPREAD = 8
"""Bytes by which requests of one size may differ below a layer that compresses: no two hold the same time."""


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return 0.5


def busy(options: Options) -> float:
    """About how long it keeps a processor busy, in seconds: a few echoes, and the start of tcpdump."""
    return 0.05


def execute(trial: Trial) -> None:
    """Sends requests of one size, and looks below every layer at once."""
    overlay = trial.overlay
    packet = overlay.mtu if trial.options["full"] else packet_size(int(trial.options["payload"]), overlay.family)
    if packet > overlay.mtu:
        raise Unsupported(f"a packet of {packet} B does not fit into the overlay, whose MTU is {overlay.mtu} B")
    with ExitStack() as looking:
        captures = []
        for index, view in enumerate(trial.views):
            node, interface = looking.enter_context(view())
            if index == 0 and packet > (mtu := int(node.ask("cat", f"/sys/class/net/{interface}/mtu").stdout)):
                raise Unsupported(f"a packet of {packet} B does not fit into one between the nodes, which have {mtu} B")
            captures.append((node, node.home / f"overhead-{index}.pcap"))
            looking.enter_context(capture.capturing(node, interface, captures[-1][1], direction="out"))
        result = trial.client.try_run(
            *("ping", "-n", "-c", str(ECHOES), "-i", "0.02", "-W", f"{REPLY_TIMEOUT:g}", "-M", "do"),
            *("-s", str(payload_size(packet, overlay.family)), trial.target),
        )
    trial.outputs["ping.txt"] = result.stdout + result.stderr
    below = [parse(capture.sizes(node, path)) for node, path in captures]
    trial.outputs["overhead.json"] = json.dumps({"packet": packet, "below": below})
    trial.samples.append(Sample("overhead", below[0] - packet))


def parse(sizes: Sequence[int]) -> int:
    """The size that carried a request, among all that were sent below a layer: the largest where they differ a little.

    Raises WorkloadFailed.
    """
    seen = Counter(sizes)
    for spread in (0, SPREAD):
        often = [size for size in seen if sum(seen[size - less] for less in range(spread + 1)) > ECHOES // 2]
        if often:
            return max(often)
    raise WorkloadFailed(f"no size was seen as often as most of {ECHOES} requests: {dict(seen)!s:.200}")
