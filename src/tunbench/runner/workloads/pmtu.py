"""The largest packet that passes unfragmented, what path MTU discovery says of it, and the MSS of TCP."""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.metrics import Metric, Question
from tunbench.runner.declare.options import Options
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import Result
from tunbench.runner.proof import capture, fragments
from tunbench.runner.workload import About, Sample, Trial
from tunbench.runner.workloads.shared.icmp import REFUSED, payload_size
from tunbench.runner.workloads.shared.iperf import iperf3, iperf3_report
from tunbench.runner.workloads.shared.output_bounds import LARGEST_PACKET, LAST_WORDS

ABOUT = About(
    name="pmtu",
    summary="the largest packet that passes unfragmented, found by probing; path MTU discovery; the MSS of TCP",
    options={},
    metrics={
        "pmtu": Metric(
            "B",
            "largest IP packet of the overlay that passes unfragmented, at every layer",
            more_is_better=True,
            question=Question.WIRE,
            main=True,
        ),
        "discovered": Metric(
            "B", "what path MTU discovery has told the client's kernel", more_is_better=True, question=Question.WIRE
        ),
        "black-hole": Metric(
            "count",
            "1 where a packet of the discovered size vanishes and nobody says so, 0 else",
            question=Question.WIRE,
        ),
        "interruptions": Metric(
            "count",
            "sizes behind which small packets did not pass for a moment either: the tunnel hung up, or all were lost",
            question=Question.WIRE,
        ),
        "mss": Metric(
            "B",
            "maximum segment size of a TCP connection, options not taken away",
            more_is_better=True,
            question=Question.WIRE,
            main=True,
        ),
    },
    programs={"ping": "iputils-ping", "iperf3": "iperf3", "tcpdump": "tcpdump"},
    version=("ping", "-V"),
)

TIMESTAMPS = 12
"""Bytes of options in each segment, which Linux takes away from the MSS that it tells: RFC 7323, section 3.2."""

ECHOES = 5
"""Requests of one size: a path that loses one of twenty loses them all once in three million times."""

INTERVAL = 0.02
"""Seconds between them."""

SMALLEST = 0
"""Bytes of payload in a packet that passes wherever any does."""

PATIENCE = 10.0
"""Seconds until a small packet must pass again behind a larger one that did not.

Some tunnels hang up when a router refuses what they sent, and are up again seconds later: what is asked in between
tells nothing of its size. That small packets pass comes before each search also in RFC 8899, section 5.2 (state Base).
"""

CLIENT_GRACE = 20.0
"""Seconds that a connection with one byte may take beyond what iperf3 has anyway."""


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return 3.0


def busy(options: Options) -> float:
    """About how long it keeps a processor busy, in seconds: it waits for echoes that do not come."""
    return 0.2


def execute(trial: Trial) -> None:
    """Probes with echo requests that must not be fragmented, and looks for fragments below every layer."""
    with ExitStack() as looking:
        captures = []
        for index, view in enumerate(trial.views):
            node, interface = looking.enter_context(view())
            captures.append((node, node.home / f"fragments-{index}.pcap"))
            looking.enter_context(capture.capturing(node, interface, captures[-1][1], fragments.FILTER))
        echoes = _Echoes(trial)
        found = largest(lambda packet: _passes(echoes, packet, lambda: _seen(captures)), trial.overlay.mtu)
    trial.samples.append(Sample("pmtu", found))
    discovered = _discovered(echoes)
    trial.samples.append(Sample("discovered", discovered))
    trial.samples.append(Sample("black-hole", int(found < discovered and _vanishes(echoes, discovered))))
    trial.samples.append(Sample("interruptions", echoes.interruptions))
    trial.samples.append(parse(iperf3.measure(trial, CLIENT_GRACE, "--bytes", "1")))


def largest(passes: Callable[[int], bool], guess: int) -> int:
    """The largest packet that passes, in bytes: the guess and the next one are tried first, and it is halved then."""
    low, high = 0, LARGEST_PACKET + 1
    tried = [guess, guess + 1]
    while high - low > 1:
        packet = tried.pop(0) if tried else (low + high) // 2
        if low < packet < high:
            low, high = (packet, high) if passes(packet) else (low, packet)
    return low


def parse(data: dict[str, object]) -> Sample:
    """The MSS in the client's JSON. Raises WorkloadFailed."""
    mss = iperf3_report.whole(data, "start", "tcp_mss_default")
    if not 0 < mss <= LARGEST_PACKET - TIMESTAMPS:
        raise WorkloadFailed(f"iperf3 told an MSS that makes no sense: {mss:g}")
    return Sample("mss", mss + TIMESTAMPS)


def route_mtu(text: str, interface_mtu: int) -> int:
    """The MTU in the JSON of `ip route get`: what was learned of the path, else the interface's. Raises WorkloadFailed.

    The kernel keeps what an ICMP error told it as the metric `mtu` of the destination: ip-route(8).
    """
    try:
        [route] = json.loads(text)
        learned: list[int] = [metrics["mtu"] for metrics in route.get("metrics", []) if "mtu" in metrics]
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise WorkloadFailed(f"ip told no route: {text[-LAST_WORDS:]!r}") from None
    if not all(type(mtu) is int and 0 < mtu <= LARGEST_PACKET for mtu in learned):
        raise WorkloadFailed(f"ip told an MTU that makes no sense: {learned!r:.80}")
    return min([interface_mtu, *learned])


class _Echoes:
    """Echo requests to the server, and how often a size that did not pass interrupted the tunnel."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        self.interruptions = 0

    def ask(self, packet: int, discovery: str = "do") -> Result:
        """Asks whether packets of that size pass, and returns when small ones do. Raises WorkloadFailed."""
        result = self._ping(ECHOES, ("-W", "1"), discovery, payload_size(packet, self.trial.overlay.family))
        if result.status != 0:
            self._until_small_ones_pass(packet)
        return result

    def _until_small_ones_pass(self, packet: int) -> None:
        if self._ping(ECHOES, ("-W", "1"), "do", SMALLEST).status == 0:
            return
        self.interruptions += 1
        if self._ping(1, ("-w", f"{PATIENCE:g}"), "do", SMALLEST).status != 0:
            raise WorkloadFailed(f"behind packets of {packet} B, which did not pass, nothing passed for {PATIENCE:g} s")

    def _ping(self, count: int, wait: tuple[str, str], discovery: str, payload: int) -> Result:
        return self.trial.client.try_run(
            *("ping", "-n", "-c", str(count), "-i", f"{INTERVAL:g}", *wait, "-M", discovery),
            *("-s", str(payload), self.trial.target),
        )


def _discovered(echoes: _Echoes) -> int:
    """Sends packets as large as discovery allows until it allows no smaller ones any more: RFC 1191, section 3."""
    trial = echoes.trial
    allowed, last = trial.overlay.mtu, 0
    while allowed != last:
        last = allowed
        echoes.ask(allowed, "want")
        trial.outputs["route.json"] = trial.client.run("ip", "-json", "route", "get", trial.target)
        allowed = route_mtu(trial.outputs["route.json"], last)
    return allowed


def _seen(captures: Sequence[tuple[Node, Path]]) -> int:
    """How many fragments were captured below all layers until now."""
    return sum(len(capture.packets(node, path)) for node, path in captures)


def _passes(echoes: _Echoes, packet: int, seen: Callable[[], int]) -> bool:
    if payload_size(packet, echoes.trial.overlay.family) < SMALLEST:
        return True
    before = seen()
    return echoes.ask(packet).status == 0 and seen() == before


def _vanishes(echoes: _Echoes, packet: int) -> bool:
    """Whether packets of that size are neither answered nor refused."""
    result = echoes.ask(packet)
    return result.status == 1 and not REFUSED.search(result.stdout + result.stderr)
