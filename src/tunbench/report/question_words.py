"""What a question of the first screen is called: its metric in words, and where and how it was measured."""

from collections.abc import Collection, Mapping, Sequence
from string import Formatter

from tunbench.analysis.findings.questions import Asked
from tunbench.runner import registry
from tunbench.runner.declare import spelling
from tunbench.runner.declare.metrics import BRING_UP

NAMES: Mapping[tuple[str, str], str] = {
    ("iperf3-tcp", "throughput"): "TCP throughput",
    ("iperf2-tcp", "throughput"): "TCP throughput (iperf 2)",
    ("iperf3-udp", "throughput"): "UDP throughput",
    ("iperf2-udp", "throughput"): "UDP throughput (iperf 2)",
    ("http", "throughput"): "HTTP throughput",
    ("scp", "throughput"): "throughput of scp",
    ("loaded-latency", "throughput-up"): "TCP throughput up beside probes",
    ("loaded-latency", "throughput-down"): "TCP throughput down beside probes",
    ("loaded-latency", "throughput-both"): "TCP throughput both ways beside probes",
    ("goodput", "goodput"): "highest rate without loss",
    ("http", "request-rate"): "HTTP requests a second",
    ("rr", "transactions"): "transactions a second",
    ("ping", "rtt"): "round-trip time",
    ("rr", "rtt"): "round-trip time of transactions",
    ("loaded-latency", "rtt-idle"): "idle round-trip time",
    ("loaded-latency", "rtt-up"): "round-trip time under load up",
    ("loaded-latency", "rtt-down"): "round-trip time under load down",
    ("loaded-latency", "rtt-both"): "round-trip time under load both ways",
    ("http", "latency"): "latency of HTTP requests",
    ("http", "failures"): "HTTP requests that failed",
    ("iperf3-udp", "jitter"): "jitter of UDP",
    ("iperf2-udp", "jitter"): "jitter of UDP (iperf 2)",
    ("iperf3-udp", "loss"): "loss of UDP",
    ("iperf2-udp", "loss"): "loss of UDP (iperf 2)",
    ("ping", "loss"): "loss of pings",
    ("pmtu", "pmtu"): "largest packet that passes",
    ("pmtu", "black-hole"): "MTU black hole",
    ("overhead", "overhead"): "bytes added to a packet",
    ("idle", "idle-rate"): "idle chatter",
    ("idle", "idle-cpu"): "processor time at rest",
    ("iperf3-tcp", "cost"): "cost of a byte of TCP",
    ("iperf2-tcp", "cost"): "cost of a byte of TCP (iperf 2)",
    ("iperf3-udp", "cost"): "cost of a byte of UDP",
    ("iperf2-udp", "cost"): "cost of a byte of UDP (iperf 2)",
    ("http", "cost"): "cost of a byte of HTTP",
    ("scp", "cost"): "cost of a byte of scp",
    (BRING_UP, "connect"): "first connection",
    ("connect", "connect"): "connection from nothing",
    ("recover", "blocked"): "without answers {event}",
    ("recover", "recovery"): "recovery {event}",
}
"""What a metric of a workload is called. What is not here is called by its metric and its workload."""

EVENTS = {
    "restart": "after a restart of the peer’s tunnel",
    "link": "after a cut of the link",
    "address": "after a change of address",
    "reboot": "after a reboot of the peer",
}
"""The events of `recover`."""

ONE_WAY = "throughput"
"""The metric of which a question names the way that the bytes went."""

SENT_BY_CLIENT = ("iperf3-tcp", "iperf3-udp", "iperf2-tcp", "iperf2-udp")
"""Programs whose client sends, unless `reverse` lets the server do so. Where both do, the receiver is told."""

REVERSE = "reverse"

LENGTHS = {"duration", "count", "interval", "times", "samples"}
"""Options that say how long something is measured and how often: they name a question where nothing else does."""


def name(asked: Asked, among: Sequence[Asked]) -> str:
    """What a question is called, as no other one among those of its table is."""
    program, options = _read(asked.workload)
    known = NAMES.get((program, asked.metric), f"{asked.metric} of {program}" if program != asked.metric else program)
    alike = [one for one in among if one.metric == asked.metric and _read(one.workload)[0] == program]
    way = _way(asked, alike)
    said = [*(field for _, field, _, _ in Formatter().parse(known) if field), *([REVERSE] if way else [])]
    told = [*_options(asked, alike, options, said), *([] if way else _places(asked, alike))]
    words = f"{known.format(event=event(asked))}{f' {way}' if way else ''}"
    return f"{words} ({', '.join(told)})" if told else words


def event(asked: Asked) -> str:
    """After what something is answered again, in words; empty where that is no event."""
    program, options = _read(asked.workload)
    if program != "recover":
        return ""
    chosen = options.get("event", registry.workload(program).ABOUT.options["event"].default)
    return EVENTS.get(str(chosen), f"after {chosen}")


def _options(asked: Asked, alike: Sequence[Asked], options: Mapping[str, str], said: Collection[str]) -> list[str]:
    """The options in which the question differs from those of the same metric; lengths where nothing else does.

    Those that are `said` are in its name already.
    """
    others = [_read(one.workload)[1] for one in alike if one.workload != asked.workload]
    if not others:
        return []
    differing = [key for key in options if key not in said and any(one.get(key) != options[key] for one in others)]
    main = [key for key in differing if key not in LENGTHS]
    equal = [one for one in others if all(one.get(key) == options.get(key) for key in {*one, *options} - LENGTHS)]
    return [_in_words(key, options[key]) for key in (differing if equal else main)]


def _in_words(option: str, value: str) -> str:
    match value:
        case "on":
            return f"with {option}"
        case "off":
            return f"without {option}"
        case _:
            return f"{option} {value}"


def _way(asked: Asked, alike: Sequence[Asked]) -> str:
    """Which way the bytes went, such as `a→b`; empty where that is not known."""
    program, options = _read(asked.workload)
    client, _, server = asked.pair.rpartition("-")
    if asked.metric != ONE_WAY or program not in SENT_BY_CLIENT or not client:
        return ""
    receivers = {one.node for one in alike if (one.workload, one.pair) == (asked.workload, asked.pair)}
    backwards = asked.node == client if len(receivers) > 1 else options.get(REVERSE) == "on"
    return f"{server}→{client}" if backwards else f"{client}→{server}"


def _places(asked: Asked, alike: Sequence[Asked]) -> list[str]:
    """Between whom and at which node something was measured, where there are several."""
    several = [len({getattr(one, field) for one in alike}) > 1 for field in ("pair", "node")]
    return [asked.pair] * several[0] + [f"at {asked.node}"] * several[1]


def _read(workload: str) -> tuple[str, Mapping[str, str]]:
    """The program of a workload and its options; the text as it is where that cannot be read."""
    try:
        part = spelling.part(workload)
    except ValueError:
        return workload, {}
    return part.name, part.options
