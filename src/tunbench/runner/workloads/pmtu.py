"""The largest packet that passes unfragmented, and the TCP maximum segment size that results."""

from collections.abc import Callable

from tunbench.runner import capture, iperf3
from tunbench.runner.icmp import payload_size
from tunbench.runner.options import Options
from tunbench.runner.workload import About, Metric, Sample, Trial

ABOUT = About(
    name="pmtu",
    summary="the largest packet that passes without a fragment on the wire, found by probing; the MSS of TCP",
    options={},
    metrics={
        "pmtu": Metric("B", "largest IP packet of the overlay that passes unfragmented", more_is_better=True),
        "mss": Metric("B", "maximum segment size of a TCP connection, options not taken away", more_is_better=True),
    },
    programs=("ping", "iperf3", "tcpdump"),
    version=("ping", "-V"),
)

LARGEST = 65535
"""Bytes of the largest IP packet without jumbograms: RFC 791, section 3.1."""

FRAGMENTS = "(ip[6:2] & 0x3fff != 0) or (ip6[6] = 44)"
"""More fragments or an offset (RFC 791, section 3.1), or the fragment header (RFC 8200, section 4.5)."""

TIMESTAMPS = 12
"""Bytes of options in each segment, which Linux takes away from the MSS that it tells: RFC 7323, section 3.2."""


def seconds(options: Options) -> float:
    """About how long it takes, in seconds of the lab's time."""
    return 2.0


def execute(trial: Trial) -> None:
    """Probes with echo requests that must not be fragmented, and looks for fragments between the nodes."""
    with trial.views[0]() as (node, interface):
        path = node.home / "fragments.pcap"
        with capture.capturing(node, interface, path, FRAGMENTS):
            found = largest(lambda packet: _passes(trial, packet, lambda: capture.packets(path)), trial.overlay.mtu)
    trial.samples.append(Sample("pmtu", found))
    trial.samples.append(parse(iperf3.measure(trial, 0, "--bytes", "1")))


def largest(passes: Callable[[int], bool], guess: int) -> int:
    """The largest packet that passes, in bytes: the guess and the next one are tried first, and it is halved then."""
    low, high = 0, LARGEST + 1
    tried = [guess, guess + 1]
    while high - low > 1:
        packet = tried.pop(0) if tried else (low + high) // 2
        if low < packet < high:
            low, high = (packet, high) if passes(packet) else (low, packet)
    return low


def parse(data: dict[str, object]) -> Sample:
    """The MSS in the client's JSON. Raises WorkloadFailed."""
    return Sample("mss", iperf3.number(data, "start", "tcp_mss_default") + TIMESTAMPS)


def _passes(trial: Trial, packet: int, fragments: Callable[[], list[bytes]]) -> bool:
    payload = payload_size(packet, trial.overlay.family)
    if payload < 0:
        return True
    before = len(fragments())
    ping = ("ping", "-n", "-c", "1", "-W", "1", "-M", "do", "-s", str(payload), trial.target)
    return trial.client.try_run(*ping).status == 0 and len(fragments()) == before
