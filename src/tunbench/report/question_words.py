"""What a question of the first screen is called: its metric in words, and where and how it was measured."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from string import Formatter
from typing import NamedTuple

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
    ("quic", "throughput"): "QUIC throughput",
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
    ("quic", "handshake"): "handshake of QUIC",
    ("rist", "delivered"): "video that arrives (RIST)",
    ("rist", "rtt"): "round-trip time of RIST",
    ("http", "failures"): "HTTP requests that failed",
    ("kube-api", "latency"): "latency of the API server",
    ("kube-api", "failures"): "requests to the API server that failed",
    ("iperf3-udp", "jitter"): "jitter of UDP",
    ("iperf2-udp", "jitter"): "jitter of UDP (iperf 2)",
    ("iperf3-udp", "loss"): "loss of UDP",
    ("iperf2-udp", "loss"): "loss of UDP (iperf 2)",
    ("ping", "loss"): "loss of pings",
    ("multicast", "loss"): "loss of multicast",
    ("pmtu", "pmtu"): "largest packet that passes",
    ("pmtu", "black-hole"): "MTU black hole",
    ("overhead", "overhead"): "bytes added to a packet",
    ("marks", "dscp-outside"): "DSCP copied to the outside",
    ("idle", "idle-rate"): "idle chatter",
    ("idle", "idle-cpu"): "processor time at rest",
    ("iperf3-tcp", "cost"): "cost of a byte of TCP",
    ("iperf2-tcp", "cost"): "cost of a byte of TCP (iperf 2)",
    ("iperf3-udp", "cost"): "cost of a byte of UDP",
    ("iperf2-udp", "cost"): "cost of a byte of UDP (iperf 2)",
    ("http", "cost"): "cost of a byte of HTTP",
    ("scp", "cost"): "cost of a byte of scp",
    ("quic", "cost"): "cost of a byte of QUIC",
    (BRING_UP, "connect"): "first connection",
    ("connect", "connect"): "connection from nothing",
    ("join", "join"): "joining a mesh",
    ("recover", "blocked"): "without answers {event}",
    ("scp", "duration"): "log-in and copy by scp",
    ("nix-cache", "duration"): "download from a Nix cache",
    ("recover", "recovery"): "recovery {event}",
}
"""What a metric of a workload is called. What is not here is called by its metric and its workload."""

EVENTS = {
    "restart": "after a restart of the peer’s tunnel",
    "link": "after a cut of the link",
    "address": "after a change of address",
    "reboot": "after a reboot of the peer",
    "reboot-all": "after all nodes rebooted",
    "peer-forgets": "after the peer forgot the tunnel",
    "nat-rebind": "after the NAT forgot its mappings",
    "udp-block": "after UDP was blocked",
    "udp-unblock": "after UDP passed again",
    "rekey": "while keys were renewed",
}
"""The events of `recover`."""

ONE_WAY = "throughput"
"""The metric of which a question names the way that the bytes went."""

OF_A_WAY = "cost"
"""The metric of which it does so where it was measured for both."""

SENT_BY_CLIENT = ("iperf3-tcp", "iperf3-udp", "iperf2-tcp", "iperf2-udp")
"""Programs whose client sends, unless `reverse` lets the server do so. Where both do, the receiver is told."""

REVERSE = "reverse"

LENGTHS = {"duration", "count", "interval", "times", "samples"}
"""Options that say how long something is measured and how often: they name a question where nothing else does."""


class Alike(NamedTuple):
    """What the questions of one program and metric differ in.

    `options` are the values that each option has, None where it is not given; `others` is how many workloads share
    all options but those of LENGTHS; `nodes` are where each pair of a workload was measured.
    """

    options: Mapping[str, Collection[str | None]]
    others: Mapping[frozenset[tuple[str, str]], int]
    places: tuple[Collection[str], Collection[str]]
    nodes: Mapping[tuple[str, str], Collection[str]]


def name(asked: Asked, among: Sequence[Asked]) -> str:
    """What a question is called, as no other one among those of its table is."""
    return names(among)[asked]


def names(among: Sequence[Asked]) -> dict[Asked, str]:
    """What each question of a table is called."""
    groups: dict[tuple[str, str], list[Asked]] = {}
    for one in among:
        groups.setdefault((_read(one.workload)[0], one.metric), []).append(one)
    alike = {key: _alike(those) for key, those in groups.items()}
    return {one: _name(one, alike[_read(one.workload)[0], one.metric]) for one in among}


def event(asked: Asked) -> str:
    """After what something is answered again, in words; empty where that is no event."""
    program, options = _read(asked.workload)
    if program != "recover":
        return ""
    chosen = options.get("event", registry.workload(program).ABOUT.options["event"].default)
    return EVENTS.get(str(chosen), f"after {chosen}")


def _alike(questions: Sequence[Asked]) -> Alike:
    workloads = [_read(one)[1] for one in dict.fromkeys(one.workload for one in questions)]
    given = {option for options in workloads for option in options}
    nodes: dict[tuple[str, str], set[str]] = {}
    for one in questions:
        nodes.setdefault((one.workload, one.pair), set()).add(one.node)
    return Alike(
        {option: {options.get(option) for options in workloads} for option in given},
        Counter(map(_main, workloads)),
        ({one.pair for one in questions}, {one.node for one in questions}),
        nodes,
    )


def _name(asked: Asked, alike: Alike) -> str:
    program, options = _read(asked.workload)
    known, way = NAMES.get((program, asked.metric), ""), _way(asked, alike)
    said = [*(field for _, field, _, _ in Formatter().parse(known) if field), *([REVERSE] if way else [])]
    told = [*_options(alike, options, said), *([] if way else _places(asked, alike))]
    # What has no name here is a stranger's, and no pattern of ours.
    unknown = f"{asked.metric} of {program}" if program != asked.metric else program
    words = f"{known.format(event=event(asked)) or unknown}{f' {way}' if way else ''}"
    return f"{words} ({', '.join(told)})" if told else words


def _options(alike: Alike, options: Mapping[str, str], said: Collection[str]) -> list[str]:
    """The options in which a question differs from those of the same metric; lengths where nothing else does.

    Those that are `said` are in its name already.
    """
    differing = [key for key in options if key not in said and len(alike.options[key]) > 1]
    shared = alike.others[_main(options)] > 1
    return [_in_words(key, options[key]) for key in differing if shared or key not in LENGTHS]


def _main(options: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    return frozenset((option, value) for option, value in options.items() if option not in LENGTHS)


def _in_words(option: str, value: str) -> str:
    match value:
        case "on":
            return f"with {option}"
        case "off":
            return f"without {option}"
        case _:
            return f"{option} {value}"


def _way(asked: Asked, alike: Alike) -> str:
    """Which way the bytes went, such as `a→b`; empty where that is not known."""
    program, options = _read(asked.workload)
    client, server = ends(asked.pair)
    of_each_way = asked.metric == OF_A_WAY and len(alike.options.get(REVERSE, ())) > 1
    if not (asked.metric == ONE_WAY or of_each_way) or program not in SENT_BY_CLIENT or not client:
        return ""
    both = len(alike.nodes[asked.workload, asked.pair]) > 1
    backwards = asked.node == client if both else options.get(REVERSE) == "on"
    return f"{server}→{client}" if backwards else f"{client}→{server}"


def ends(pair: str) -> tuple[str, str]:
    """The two nodes of a pair, whose names have equally many `-`, such as `host-a-host-b`; empty where it is none."""
    names = pair.split("-")
    half = len(names) // 2
    return ("", "") if len(names) % 2 else ("-".join(names[:half]), "-".join(names[half:]))


def _places(asked: Asked, alike: Alike) -> list[str]:
    """Between whom and at which node something was measured, where there are several."""
    pairs, nodes = (len(each) > 1 for each in alike.places)
    return [asked.pair] * pairs + [f"at {asked.node}"] * nodes


@lru_cache(maxsize=10_000)
def _read(workload: str) -> tuple[str, Mapping[str, str]]:
    """The program of a workload and its options; the text as it is where that cannot be read."""
    try:
        part = spelling.part(workload)
    except ValueError:
        return workload, {}
    return part.name, part.options
