"""What comes of a stream over RIST: what the viewer tells by our own numbers, and what librist's receiver counts."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from tunbench.runner.declare.failures import WorkloadFailed
from tunbench.runner.node.json_output import table, value_at
from tunbench.runner.workload import Sample
from tunbench.runner.workloads.shared.output_bounds import COUNT, COUNTER, last_words

SENT = re.compile(rf"sent (\d{{1,9}}) {COUNTER}", re.ASCII)
GOT = re.compile(r"ready\ngot((?: \d{1,9}(?:\.\.\d{1,9})?)*)\nend", re.ASCII)
END = re.compile(rf"^end ({COUNT}) ({COUNT}) ({COUNT}) ({COUNT})$", re.ASCII | re.MULTILINE)
STATISTICS = re.compile(r"^(\d{10}\.\d{6})\|[^|\n]*\|\[INFO\] (\{\"receiver-stats\".*)$", re.ASCII | re.MULTILINE)
"""A line of ristreceiver's: the moment in s of the real clock, its number for itself, and JSON."""

MOST = 10**9
"""Packets of which it counts fewer in a second."""

LONGEST_RTT = 60_000
"""Milliseconds of a round trip that it may tell."""

ROUNDING = 1e-4
"""By how much a quality of 1 may differ from what it is computed of: it is printed with 15 digits, of 100."""


class Viewed(NamedTuple):
    """Datagrams at the viewer: those of the stream, each once, and what arrived in all, broken, overtaken, again."""

    distinct: int
    highest: int
    arrived: int
    broken: int
    overtaken: int
    twice: int


class Second(NamedTuple):
    """What the receiver counted since its last line: moment in s, quality of 1, packets, and round-trip times in s."""

    moment: float
    quality: float
    received: int
    missing: int
    recovered: int
    lost: int
    retries: int
    rtts: Sequence[float]


def sent(text: str) -> int:
    """The datagrams that the sender sent. Raises WorkloadFailed."""
    found = SENT.fullmatch(text.strip())
    if not found or int(found[1]) == 0:
        raise WorkloadFailed(f"the sender of the stream did not come to its end: {last_words(text)}")
    return int(found[1])


def of_viewer(text: str, count: int) -> list[Sample]:
    """What the viewer got of so many datagrams. Raises WorkloadFailed."""
    viewed = view(text)
    rest = viewed.broken + viewed.twice
    if viewed.highest > count or viewed.arrived != viewed.distinct + rest or viewed.overtaken > viewed.arrived:
        raise WorkloadFailed(f"the viewer tells of datagrams that were never sent, of {count}: {last_words(text)}")
    return [Sample("delivered", viewed.distinct / count)]


def view(text: str) -> Viewed:
    """What the viewer printed. Raises WorkloadFailed where it did not come to its end."""
    got, end = GOT.match(text), END.search(text)
    if not got or not end or not text.endswith("\n") or len(text.splitlines()) != 3:
        raise WorkloadFailed(f"the viewer did not come to its end: {last_words(text)}")
    last = distinct = 0
    for word in got[1].split():
        first, _, to = word.partition("..")
        begin, stop = int(first), int(to or first)
        if not last < begin <= stop:
            raise WorkloadFailed(f"the viewer tells of the datagrams {word} behind {last}")
        last, distinct = stop, distinct + stop - begin + 1
    return Viewed(distinct, last, *map(int, end.groups()))


def of_receiver(text: str, count: int) -> list[Sample]:
    """What librist counted of a stream of so many datagrams. Raises WorkloadFailed."""
    seconds = read(text)
    if not seconds:
        return []
    received, missing, recovered, lost, retries = (
        sum(getattr(one, name) for one in seconds) for name in ("received", "missing", "recovered", "lost", "retries")
    )
    # It takes its first packet for the beginning, and counts from the second one on.
    if received > count or recovered > missing or missing > count:
        raise WorkloadFailed(
            f"librist counted {received} packets received, {missing} missing and {recovered} recovered of {count}"
        )
    began = seconds[0].moment
    found = [
        *([Sample("quality", received / (received + missing))] if received + missing else []),
        Sample("recovered", recovered),
        # Its counter of 16 bits runs below 0 where one that it gave up comes after all.
        *([Sample("unrecovered", lost)] if lost <= missing else []),
        Sample("retries", retries),
    ]
    for one in seconds:
        at = round(one.moment - began, 6)
        found += [Sample("quality", one.quality, at)] if one.received + one.missing else []
        found += [Sample("rtt", rtt, at) for rtt in one.rtts]
    return found


def read(text: str) -> list[Second]:
    """The lines of statistics, in the order of time. Raises WorkloadFailed where one is torn, or contradicts itself."""
    found = [_second(float(moment), table(line, "ristreceiver")) for moment, line in STATISTICS.findall(text)]
    if len(found) != text.count('"receiver-stats"'):
        raise WorkloadFailed(f"ristreceiver printed statistics that are torn: {last_words(text)}")
    moments = [one.moment for one in found]
    if moments != sorted(moments):
        raise WorkloadFailed("the statistics of ristreceiver are not in the order of time")
    return found


def _second(moment: float, data: Any) -> Second:
    flow = value_at(data, "receiver-stats", "flowinstant")
    names = ("received", "missing", "recovered_total", "lost", "retries")
    received, missing, recovered, lost, retries = (_whole(value_at(flow, "stats", name), name) for name in names)
    percent = value_at(flow, "stats", "quality")
    if isinstance(percent, bool) or not isinstance(percent, int | float) or not 0 <= percent <= 100:
        raise WorkloadFailed(f"ristreceiver tells a quality of {percent!r:.40} %")
    quality = percent / 100
    if received and abs(quality - received / (received + missing)) > ROUNDING:
        raise WorkloadFailed(
            f"ristreceiver tells a quality of {percent:g} % with {received} packets received and {missing} missing"
        )
    peers = flow.get("peers")
    if not isinstance(peers, list):
        raise WorkloadFailed("ristreceiver tells of no peers")
    rtts = [_whole(value_at(one, "stats", "rtt"), "rtt", LONGEST_RTT) / 1e3 for one in peers]
    return Second(moment, quality, received, missing, recovered, lost, retries, rtts)


def _whole(found: Any, name: str, most: int = MOST) -> int:
    if type(found) is not int or not 0 <= found <= most:
        raise WorkloadFailed(f"ristreceiver tells no sound number at {name}: {found!r:.40}")
    return found
