"""Which marks of a packet a stack copies to what it sends, and which arrive: DSCP (RFC 2983) and ECN (RFC 6040)."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from tunbench.runner.declare.failures import Unsupported, WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Option, Options
from tunbench.runner.network.underlay import UNDERLAY_KINDS
from tunbench.runner.proof import capture
from tunbench.runner.workload import About, Sample, Trial
from tunbench.runner.workloads.shared.icmp import REPLY_TIMEOUT, SPREAD

ABOUT = About(
    name="marks",
    summary="echo requests with a DSCP and ECN: what stands outside of the stack, and what arrives inside of it",
    options={
        "dscp": Option("count", "46", "DSCP of the requests, 46 is EF (RFC 3246)", low=1, high=63),
        "count": Option("count", "20", "echo requests of each kind", low=1, high=10_000),
    },
    metrics={
        "dscp-outside": Metric(
            "ratio",
            "packets between the nodes that have the DSCP of the requests that they carry",
            more_is_better=None,
            question=Question.WIRE,
            main=True,
        ),
        "ecn-outside": Metric(
            "ratio",
            "packets between the nodes that allow to be marked instead of dropped, as the requests do",
            more_is_better=None,
            question=Question.WIRE,
            main=True,
        ),
        "dscp-inside": Metric(
            "ratio", "requests that arrive with the DSCP with which they were sent", None, Question.WIRE
        ),
        "congestion-inside": Metric(
            "ratio",
            "requests that arrive as marked, where all packets between the nodes are marked that allow it",
            more_is_better=True,
            question=Question.WIRE,
        ),
    },
    programs={"ping": "iputils-ping", "tcpdump": "tcpdump", "nft": "nftables"},
    version=("ping", "-V"),
)

PAYLOAD = 512
"""Bytes of payload of a request: packets that carry one are larger than most of what a tunnel says itself."""

INTERVAL = 0.02
"""Seconds between two requests."""

ALLOWED, MARKED = 2, 3
"""ECN-capable transport, ECT(0), and congestion experienced, CE: RFC 3168, section 5."""

ARRIVING = {4: "icmp[0] = 8", 6: "icmp6 and ip6[40] = 128"}
"""The pcap filter of an echo request, by its address family."""

CONGESTION = """\
table {family} marks {{
    chain out {{
        type filter hook postrouting priority 0
        oifname "{interface}" ip ecn ect0 ip ecn set ce
        oifname "{interface}" ip6 ecn ect0 ip6 ecn set ce
    }}
}}
"""
"""What a queue does that marks every packet which allows it. The egress hook would miss what came through an `ifb`, as
all does that a link delays: there the kernel does not forget that it has passed one (Linux 6.1, net/core/dev.c)."""


class Marks(NamedTuple):
    """What stands in the traffic class of an IP header: RFC 2474, section 3, and RFC 3168, section 5."""

    dscp: int
    ecn: int


Seen = Counter[Marks]
"""The packets that carry a request in one place, by their marks."""


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return 2.0 + 2 * INTERVAL * float(options["count"])


def busy(options: Options) -> float:
    """About how long it keeps a processor busy, in seconds: a few echoes, and the start of tcpdump."""
    return 0.1 + 0.0008 * float(options["count"])


def execute(trial: Trial) -> None:
    """Sends marked requests, and sends them again while the path marks all that it may."""
    below, arrived = _looked(trial)
    with _congested(trial):
        _, congested = _looked(trial)
    trial.outputs["marks.json"] = json.dumps(
        {"below": [_told(seen) for seen in below], "arrived": _told(arrived), "arrived-marked": _told(congested)}
    )
    trial.samples += samples(int(trial.options["dscp"]), below[0], arrived, congested)


def carrying(packets: Sequence[bytes], requests: int) -> list[bytes]:
    """Those of some packets, without link-layer headers, that carry one of so many requests.

    They have the largest size that most requests have, or are a little smaller. What a tunnel sends by itself may be
    larger, as probes of tinc are, and is seen less often.
    """
    seen = Counter(map(len, packets))
    usual = [size for size in seen if 2 * sum(seen[size - less] for less in range(SPREAD + 1)) > requests]
    return [packet for packet in packets if usual and max(usual) - SPREAD <= len(packet) <= max(usual)]


def samples(dscp: int, outside: Seen, arrived: Seen, congested: Seen) -> list[Sample]:
    """What became of the marks. Where no request is seen as it arrives, nothing is said of that. Raises WorkloadFailed.

    `outside` are packets between the nodes, the others requests at the server, at last under congestion.
    """
    if not outside:
        raise WorkloadFailed("no packets between the nodes were seen as often as most requests, and of one size")
    found = [
        Sample("dscp-outside", _share(outside, lambda marks: marks.dscp == dscp)),
        Sample("ecn-outside", _share(outside, lambda marks: marks.ecn == ALLOWED)),
    ]
    if arrived and congested:
        found.append(Sample("dscp-inside", _share(arrived, lambda marks: marks.dscp == dscp)))
        found.append(Sample("congestion-inside", _share(congested, lambda marks: marks.ecn == MARKED)))
    return found


def parse(packets: Sequence[bytes]) -> Seen:
    """The marks of packets without link-layer headers."""
    return Counter(map(_marks, packets))


def _marks(packet: bytes) -> Marks:
    """Those of an IP packet; what is none has no marks that a router could read."""
    octet = {4: packet[1], 6: (packet[0] & 15) << 4 | packet[1] >> 4}.get(packet[0] >> 4, 0)
    return Marks(octet >> 2, octet & 3)


def _share(seen: Seen, has: Callable[[Marks], bool]) -> float:
    return sum(count for marks, count in seen.items() if has(marks)) / seen.total()


def _told(seen: Seen) -> list[dict[str, int]]:
    return [{**marks._asdict(), "packets": count} for marks, count in sorted(seen.items())]


def _looked(trial: Trial) -> tuple[list[Seen], Seen]:
    """What was seen below each layer, the lowest first, and at the server."""
    overlay = trial.overlays[trial.server.name]
    with ExitStack() as looking:
        places = [(*looking.enter_context(view()), "", "out") for view in trial.views]
        places.append(
            (trial.server, overlay.interface, f"{ARRIVING[overlay.family]} and dst host {trial.target}", "in")
        )
        captures = []
        for index, (node, interface, expression, direction) in enumerate(places):
            path = node.home / f"marks-{trial.number}-{index}.pcap"
            captures.append((node, path))
            looking.enter_context(capture.capturing(node, interface, path, expression, direction))
        _ping(trial)
    *below, arrived = [capture.network_layer(node, path) for node, path in captures]
    return [parse(carrying(packets, int(trial.options["count"]))) for packets in below], parse(arrived)


def _ping(trial: Trial) -> None:
    octet = int(trial.options["dscp"]) << 2 | ALLOWED
    result = trial.client.try_run(
        *("ping", "-n", "-c", str(trial.options["count"]), "-i", f"{INTERVAL:g}", "-W", f"{REPLY_TIMEOUT:g}"),
        *("-Q", str(octet), "-s", str(PAYLOAD), trial.target),
        timeout=2 * INTERVAL * float(trial.options["count"]) + REPLY_TIMEOUT + 10,
    )
    trial.outputs["ping.txt"] = trial.outputs.get("ping.txt", "") + result.stdout + result.stderr


@contextmanager
def _congested(trial: Trial) -> Iterator[None]:
    """Marks all packets that allow it as they leave for the server, for a time. Raises Unsupported."""
    with trial.views[0]() as (node, interface):
        rules = node.home / "marks.nft"
        family = "bridge" if node.name == UNDERLAY_KINDS["ethernet"].middle else "inet"
        node.write(rules, CONGESTION.format(family=family, interface=interface))
        if (result := node.try_run("nft", "-f", str(rules))).status != 0:
            raise Unsupported(f"this kernel cannot mark what leaves an interface: {result.stderr.strip()[-200:]}")
        try:
            yield
        finally:
            node.try_run("nft", "delete", "table", family, "marks")
