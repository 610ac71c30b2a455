"""Every parser of a tool's output with what real tools printed, and ways in which that can be spoilt."""

import copy
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from tests.helpers.fakes import CAPTURED, captured
from tunbench.runner import probe, registry
from tunbench.runner.bounds import impossible
from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.declare.link import Direction, Link
from tunbench.runner.declare.metrics import Metric
from tunbench.runner.network import link_command, netem_report, qdiscs
from tunbench.runner.probes import memory
from tunbench.runner.probes.shared import overlay_traffic, processor_time
from tunbench.runner.proof import fragments, pcap
from tunbench.runner.trials import FAILURES
from tunbench.runner.workload import Sample
from tunbench.runner.workloads import (
    connect,
    goodput,
    http,
    idle,
    iperf2_tcp,
    iperf2_udp,
    iperf3_tcp,
    iperf3_udp,
    join,
    kube_api,
    loaded_latency,
    marks,
    multicast,
    overhead,
    ping,
    pmtu,
    quic,
    recover,
    rist,
    rr,
    scp,
)
from tunbench.runner.workloads.nix_cache import download
from tunbench.runner.workloads.quic.programs import IMPLEMENTATIONS
from tunbench.runner.workloads.shared import arrivals, irtt, node_counters, outages
from tunbench.runner.workloads.shared.iperf.iperf3_report import load

LASTED = 1000.0
"""Seconds that every trial is said to have lasted."""

NAMES = ("a", "b")
FEED = "\f"
"""What stands between several outputs of one trial."""


class Parser(NamedTuple):
    """How an output is read, the metrics of its workload, and real outputs, the first of which gives samples."""

    parse: Callable[[str], list[Sample]]
    metrics: Mapping[str, Metric]
    texts: Sequence[str]


def of(workload: str, parse: Callable[[str], list[Sample]], texts: Sequence[str]) -> Parser:
    about = registry.workload(workload).ABOUT
    return Parser(parse, {**about.metrics, **probe.metrics(registry.probe_names())}, texts)


def some(*names: str) -> list[str]:
    """What is captured under these names."""
    return [captured(name) for name in names]


def both(*names: str) -> list[str]:
    """What the client and the server of iperf 2 printed."""
    return [FEED.join(captured(f"iperf2-{name}-{who}.txt") for who in ("client", "server")) for name in names]


def split(text: str) -> tuple[str, str]:
    return text.partition(FEED)[::2]


def of_irtt(text: str) -> list[Sample]:
    trips = irtt.parse(text)
    idle_ones = [rtt for _, rtt in trips.answered]
    more = loaded_latency.compared("up", idle_ones, idle_ones) if idle_ones else []
    return [*(Sample("rtt-up", rtt, at) for at, rtt in trips.answered), Sample("loss-up", trips.loss), *more]


def of_flows(text: str) -> list[Sample]:
    return [Sample("throughput-up", loaded_latency.throughput(loaded_latency.parse(text), 2.0))]


def of_nix(text: str) -> list[Sample]:
    log, store = split(text)
    return download.parse(log, store, download.Made(f"/nix/store/{'0' * 32}-package-0", 4, 80464), 0.4)


def of_join(text: str) -> list[Sample]:
    before, after = (
        [node_counters.parse(captured(f"idle-{number}.txt"), moment)] for number, moment in ((1, 0.0), (2, 60.0))
    )
    return join.parse(text, 0.0, 0.0, before, after)


def of_rates(text: str) -> list[Sample]:
    found = goodput.parse(load(text), 1e7)
    rates = (("trial-rate", found.offered), ("goodput", found.goodput), ("trial-loss", found.loss))
    return [Sample(name, value) for name, value in rates]


def of_rest(text: str) -> list[Sample]:
    before, after = split(text)
    return idle.rates([node_counters.parse(before, 0.0)], [node_counters.parse(after, 60.0)])


def of_probes(text: str) -> list[Sample]:
    event = recover.Event(0.0, 0.0, 0.5)
    return recover.parse(text, event, 0.0, 0.001)


def of_capture(text: str) -> list[Sample]:
    return [
        Sample("overhead", overhead.parse(fragments.joined(pcap.network_layer(pcap.read(as_bytes(text))))).size - 100)
    ]


def of_marks(text: str) -> list[Sample]:
    seen = marks.parse(marks.carrying(pcap.network_layer(pcap.read(as_bytes(text))), 4))
    return marks.samples(46, seen, seen, seen)


def of_qdisc(text: str) -> list[Sample]:
    shown = qdiscs.by_kind(text)
    netem, shaper = shown.get("netem", {}), shown.get("tbf", {})
    terms, link = {"loss": 0.01, "delay": 0.02}, Link("line", up=Direction(rate=5e7))
    counted = qdiscs.counters(netem)
    told = (
        *netem_report.deviations(terms, netem),
        netem_report.overflow(terms, counted),
        *link_command.differences(link, link.up, shaper),
    )
    assert all(isinstance(one, str) for one in told)
    return [Sample("packets", float(counted["packets"] + qdiscs.counters(shaper)["packets"]))]


def at_least_one(samples: list[Sample]) -> list[Sample]:
    if not samples:
        raise WorkloadFailed("no statistics")
    return samples


def of_connections(text: str, impl: str = "ngtcp2") -> list[Sample]:
    return quic.report.parse(text, IMPLEMENTATIONS[impl].marks, 3)[0]


def of_download(text: str) -> list[Sample]:
    marks = IMPLEMENTATIONS["ngtcp2"].marks
    return [Sample("throughput", 8 * 2_000_000 / quic.report.duration(text, marks, says_when=False, beside=0.1))]


def of_log(text: str) -> list[Sample]:
    return [Sample("retransmits", quic.report.lost(text, 2_000_000))]


def as_bytes(text: str) -> bytes:
    """The bytes of a capture, for each of which a character stands."""
    return text.encode("latin-1", errors="replace")


def pcap_of(name: str) -> str:
    return (CAPTURED / name).read_bytes().decode("latin-1")


PINGS = some(
    *(f"ping-{name}.txt" for name in ("clean", "loss-dup", "all-lost", "corrupt", "slow", "small", "unreachable"))
)
REFUSED = some(*(f"ping-df-{name}.txt" for name in ("fits", "frag-needed", "local", "packet-too-big")))
TCP = some(*(f"iperf3-{name}.json" for name in ("tcp", "tcp-reverse", "killed", "connect")))
FLOWS = some(*(f"loaded-{phase}-{who}.json" for phase in ("up", "both", "down") for who in ("server", "client")))
PROBES = some(*(f"probe-{name}.txt" for name in ("link", "restart", "connect", "silent")))

RIST_VIEWERS, RIST_RECEIVERS = (
    some(*(f"rist-{what}-{name}.txt" for name in ("lossy", "clean", "heavy", "killed")))
    for what in ("viewer", "receiver")
)

PARSERS: dict[str, Parser] = {
    "ping": of("ping", lambda text: ping.parse(text, 0.01), PINGS),
    "ping:df": of("ping", lambda text: ping.parse(text, 0.01, True), REFUSED),
    "iperf3-tcp": of("iperf3-tcp", lambda text: iperf3_tcp.parse(load(text)), TCP),
    "iperf3-udp": of("iperf3-udp", lambda text: iperf3_udp.parse(load(text)), some("iperf3-udp.json")),
    "iperf3-tcp:bidir": of(
        "iperf3-tcp", lambda text: iperf3_tcp.parse(load(text), NAMES), some("iperf3-tcp-bidir.json")
    ),
    "iperf3-udp:reverse": of(
        "iperf3-udp",
        lambda text: iperf3_udp.parse(load(text), reverse=True),
        some("iperf3-udp-reverse.json"),
    ),
    "iperf3-udp:bidir": of(
        "iperf3-udp",
        lambda text: iperf3_udp.parse(load(text), bidir=NAMES),
        some("iperf3-udp-bidir.json"),
    ),
    "iperf2-tcp": of(
        "iperf2-tcp", lambda text: iperf2_tcp.parse(*split(text)), both("tcp", "tcp-bytes", "tcp-pause", "tcp-reset")
    ),
    "iperf2-udp": of(
        "iperf2-udp", lambda text: iperf2_udp.parse(*split(text)), both("udp", "udp-bytes", "udp-duplicates", "udp-cut")
    ),
    "iperf3-udp:arrivals": of("iperf3-udp", lambda text: arrivals.samples(arrivals.parse(text)), some("arrivals.txt")),
    "rr:tcp": of("rr", lambda text: rr.parse(*split(text), "tcp", 100), [FEED.join(some("rr-tcp.txt", "rr-tcp.csv"))]),
    "rr:udp": of("rr", lambda text: rr.parse(*split(text), "udp", 100), [FEED.join(some("rr-udp.txt", "rr-udp.csv"))]),
    "kube-api": of("kube-api", lambda text: kube_api.parse(text, 20), some("kube-api.json")),
    "http": of("http", lambda text: http.parse(text, 20, 10_000), some("hey-clean.json", "hey-missing.json")),
    "irtt": of("loaded-latency", of_irtt, some("irtt-clean.json", "irtt-loss.json", "irtt-reopened.json")),
    "loaded-latency": of("loaded-latency", of_flows, FLOWS),
    "goodput": of("goodput", of_rates, some(*(f"goodput-{name}.json" for name in ("clean", "loss", "queue")))),
    "pmtu:mss": of("pmtu", lambda text: [pmtu.parse(load(text))], TCP),
    "pmtu:route": of(
        "pmtu",
        lambda text: [Sample("discovered", pmtu.route_mtu(text, 1500))],
        some("route-learned.json", "route-plain.json", "route6-learned.json"),
    ),
    "idle": of("idle", of_rest, [FEED.join(some("idle-1.txt", "idle-2.txt"))]),
    "nix-cache": of("nix-cache", of_nix, [FEED.join(some("nix-access.log", "nix-store.json"))]),
    "join": of("join", of_join, PROBES),
    "recover": of("recover", of_probes, PROBES),
    "connect": of("connect", lambda text: [connect.parse(text, 0.0, 0.0)], PROBES),
    "scp": of("scp", lambda text: scp.parse(text, 2_000_000, 0.1, 0.2), some("scp-sha256sum.txt", "scp-lost.txt")),
    "overhead": of("overhead", of_capture, [pcap_of("proof-vxlan.pcap"), pcap_of("small.pcap")]),
    "marks": of("marks", of_marks, [pcap_of("proof-vxlan.pcap"), pcap_of("small.pcap")]),
    "multicast": of("multicast", lambda text: multicast.parse(text, 100, "b"), some("multicast-heard.txt")),
    "multicast:sent": of("multicast", lambda text: [Sample("refused", multicast.refused(text, 100))], ["sent 100 3\n"]),
    "quic": of("quic", of_connections, some("quic-connections.txt")),
    "quic:quinn": of("quic", lambda text: of_connections(text, "quinn"), some("quinn-connections.txt")),
    "quic:download": of("quic", of_download, some("quic-download.txt", "quic-hung.txt")),
    "quic:log": of(
        "quic", lambda text: [Sample("retransmits", quic.report.lost(text, 2_000_000))], some("quic-log.txt")
    ),
    "rist": of("rist", lambda text: rist.report.of_viewer(text, 1254), RIST_VIEWERS),
    "rist:receiver": of("rist", lambda text: at_least_one(rist.report.of_receiver(text, 1254)), RIST_RECEIVERS),
    "tc": of("ping", of_qdisc, some("qdisc-full.json", "qdisc-loss.json", "qdisc-link.json", "tc-netem.json")),
}
"""Every parser whose values become samples, and tc's, whose become warnings."""

JSON = [name for name, one in PARSERS.items() if one.texts[0].lstrip()[:1] in "{["]

READERS: dict[str, tuple[Callable[[str], Any], Sequence[str]]] = {
    "/proc/timer_list": (processor_time.idle_of_timers, some("timer-list-vm.txt", "timer-list-two-cores.txt")),
    "/proc/stat": (processor_time.times, some("stat-vm.txt", "stat-two-cores.txt")),
    "/proc/stat ctxt": (processor_time.switches, some("stat-vm.txt")),
    "/proc/uptime": (lambda text: processor_time.idle_of_ticks(text, captured("stat-vm.txt")), ["12.34 5.67\n"]),
    "/proc/meminfo": (memory.kernel, some("meminfo-vm.txt")),
    "/proc/PID/stat": (memory.spent, ["17 (a b) S 1 17 17 0 -1 4194560 700 0 0 0 5 6 0 0 20 0 1 0 55 12288000 1750"]),
    "/proc/PID/status": (memory.peak, ["Name:\tx\nVmHWM:\t    7168 kB\n"]),
    "/proc/net/dev": (
        lambda text: overlay_traffic.received(text, "eth0"),
        ["  eth0:  777  7    0\n    lo:       0       0\n"],
    ),
    "ip route": (outages.gateway_of, ['[{"dst":"default","gateway":"10.0.0.1","dev":"eth0","flags":[]}]']),
    "pcap": (lambda text: pcap.read(as_bytes(text)).packets, [pcap_of("small.pcap")]),
}
"""What else is read, and where no sample comes of it directly."""

NUMBERS = ["0", "-1", "-0.5", "1e999", "-1e999", "1" * 20, "9" * 400, "9" * 5000, "1.2.3", ".", "٣", "NaN", "0x1", ""]
VALUES: list[Any] = [
    *(None, True, -1, -0.0, 0, 1, 2**64, 10**400, 1e308, math.inf, -math.inf, math.nan),
    *("1", "", [], {}, [[]], [None]),
]


def sound(parser: Parser, text: str) -> bool:
    """Whether samples of a text are accepted; then they are within what is physically possible."""
    try:
        samples = parser.parse(text)
    except FAILURES:
        return False
    if impossible(samples, parser.metrics, LASTED):
        return False
    for metric, value, at, _ in samples:
        unit = parser.metrics[metric].unit
        assert math.isfinite(value) and (value >= 0 or metric in ("overhead", "increase-up")), (metric, value)
        assert at is None or 0 <= at <= 1.1 * LASTED, (metric, at)
        assert unit != "ratio" or value <= 1 or metric == "idle-cpu", (metric, value)
        assert unit != "bit/s" or value <= 1e13, (metric, value)
        assert unit != "s" or value <= 1.1 * LASTED, (metric, value)
    return True


def spoilt(parser: Parser, dice: Random) -> str:
    """One of the real outputs, with something of it changed."""
    text = dice.choice(parser.texts)
    if text.lstrip()[:1] in "{[" and dice.random() < 0.5:
        try:
            return json.dumps(replaced(json.loads(text), dice))
        except ValueError:
            pass
    return edited(text, dice)


def edited(text: str, dice: Random) -> str:
    """The text with some characters, numbers or lines changed, torn out or doubled."""
    for _ in range(dice.randint(1, 4)):
        at, to = sorted(dice.choices(range(len(text) + 1), k=2))
        numbers = list(re.finditer(r"\d+(\.\d+)?", text))
        match dice.choice(["cut", "drop", "double", "number", "character", "line"]):
            case "cut":
                text = text[:to]
            case "drop":
                text = text[:at] + text[to:]
            case "double":
                text = text[:to] + text[at:]
            case "number" if numbers:
                found = dice.choice(numbers)
                text = text[: found.start()] + dice.choice(NUMBERS) + text[found.end() :]
            case "line":
                lines = text.splitlines(keepends=True)
                dice.shuffle(lines)
                text = "".join(lines)
            case _:
                text = text[:at] + chr(dice.randint(0, 0x2FF)) + text[at + 1 :]
    return text


def replaced(data: Any, dice: Random) -> Any:
    """The data with some values replaced, taken away or doubled, however deep."""
    data = copy.deepcopy(data)
    for _ in range(dice.randint(1, 3)):
        places = list(walk(data))
        if not places:
            break
        container, key = dice.choice(places)
        if dice.random() < 0.2:
            del container[key]
        elif isinstance(container, list) and dice.random() < 0.3:
            container.append(copy.deepcopy(container[key]))
        else:
            container[key] = copy.deepcopy(dice.choice(VALUES))
    return data


def walk(data: Any) -> list[tuple[Any, Any]]:
    """Every place in the data, as what holds it and its key."""
    keys = list(data) if isinstance(data, dict) else list(range(len(data))) if isinstance(data, list) else []
    return [place for key in keys for place in ((data, key), *walk(data[key]))]
