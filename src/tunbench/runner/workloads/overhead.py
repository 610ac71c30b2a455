"""The bytes that a stack adds to a packet, measured below each of its layers."""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.declare.metrics import Bounds, Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.proof import capture, fragments
from tunbench.runner.proof.fragments import Sent
from tunbench.runner.workload import About, Sample, Trial
from tunbench.runner.workloads.shared.icmp import REPLY_TIMEOUT, SPREAD, packet_size, payload_size

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
        ),
        "pieces": Metric(
            "count",
            "packets between the nodes that carry one of the overlay: more than one where it is cut below a layer",
            question=Question.WIRE,
        ),
    },
    programs={"ping": "iputils-ping", "tcpdump": "tcpdump"},
    version=("ping", "-V"),
)

ECHOES = 9
"""Requests of one size: the largest size that is seen for most of them below a layer is theirs.

A tunnel's own packets are fewer: tinc sends three probes of one size at once (1.0.36, src/net_packet.c).
"""


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
            if index == 0 and packet > (mtu := int(node.read(Path("/sys/class/net", interface, "mtu")))):
                raise Unsupported(f"a packet of {packet} B does not fit into one between the nodes, which have {mtu} B")
            captures.append((node, node.home / f"overhead-{index}.pcap"))
            looking.enter_context(capture.capturing(node, interface, captures[-1][1], direction="out"))
        result = trial.client.try_run(
            *("ping", "-n", "-c", str(ECHOES), "-i", "0.02", "-W", f"{REPLY_TIMEOUT:g}", "-M", "do"),
            *("-s", str(payload_size(packet, overlay.family)), trial.target),
        )
    trial.outputs["ping.txt"] = result.stdout + result.stderr
    below = carried([fragments.joined(capture.network_layer(node, path)) for node, path in captures])
    sizes, pieces = [one.size for one in below], [one.pieces for one in below]
    trial.outputs["overhead.json"] = json.dumps({"packet": packet, "below": sizes, "pieces": pieces})
    trial.samples += [Sample("overhead", sizes[0] - packet), Sample("pieces", pieces[0])]


def carried(captured: Sequence[Sequence[Sent]]) -> list[Sent]:
    """What carries a request below each layer, the lowest first, given all that was sent there. Raises WorkloadFailed.

    What is cut into pieces below one layer is carried by as many packets below the next.
    """
    found: list[Sent] = []
    for sent in reversed(captured):
        found.insert(0, parse(sent, found[0].pieces if found else 1))
    return found


def parse(sent: Sequence[Sent], packets: int = 1) -> Sent:
    """What carried a request in so many packets, among all that was sent below a layer, as one.

    These are the largest that are seen often enough; where they differ a little, the largest of them. Raises
    WorkloadFailed.
    """
    seen = Counter(sent)
    often = [one for one in sorted(seen, reverse=True) for _ in range(round(seen[one] / ECHOES))]
    if packets == 1:
        often = often[:1] or _alike(seen)
    if len(often) < packets:
        told = {one.size: count for one, count in seen.items()}
        raise WorkloadFailed(f"no size was seen as often as most of {ECHOES} requests: {told!s:.200}")
    return Sent(sum(one.size for one in often[:packets]), sum(one.pieces for one in often[:packets]))


def _alike(seen: Counter[Sent]) -> list[Sent]:
    """The largest of those that are seen often enough together with what is a little smaller."""

    def together(one: Sent) -> int:
        return sum(seen[one._replace(size=one.size - less)] for less in range(SPREAD + 1))

    return sorted(one for one in seen if together(one) > ECHOES // 2)[-1:]
