"""Which way packets went, second by second: what the router passed on between a pair, by where it came from.

The kernel counts while a workload lasts, in sets whose elements are made as packets come. Nobody looks at them before
the workload has ended, so that nothing runs beside it.
"""

import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from statistics import median
from typing import Any, NamedTuple

from tunbench.runner.declare.path import MIXED
from tunbench.runner.declare.topology import Pair
from tunbench.runner.network.relays import MIN_RELAYED_BYTES
from tunbench.runner.network.underlay import Underlay
from tunbench.runner.node.json_output import table, value_at
from tunbench.runner.node.node import Node
from tunbench.runner.proof.claims import Way

SET = """\
    set way-{number} {{
        typeof meta hour
        size 65535
        flags dynamic
        counter
    }}
"""

CHAIN = """\
    chain passed_on {{
        # Behind all that may drop a packet here: one that was tried and went nowhere took no path.
        type filter hook forward priority filter + 1; policy accept;
{rules}
    }}
"""

EVIDENT = re.compile(r"(tcp|udp)(?: port (\d+))?(?: and (?!.*\bor\b).*)?")
"""The pcap filter of what a relay carries, as far as rules can tell it: by protocol and port."""

NEARLY_ALL = 0.9
"""The part of the bytes of a second from which on they went that way."""

LEAST_BYTES = 1500
"""A second with fewer bytes says nothing of a path: that is a packet of a control plane, which speaks when it likes."""

LEAST_SHARE = 0.01
"""The part of a workload's bytes that a path must have carried which nobody has proven, to be one, and no fewer than
MIN_RELAYED_BYTES: a control plane may speak on the port of the relay."""

DAY = 86400

Counted = dict[float, dict[str, int]]
"""The bytes of each path, by the beginning of a second, in seconds since that of the workload."""


class Stretch(NamedTuple):
    """A path, from when until when packets took it, in seconds since the beginning, known to a second."""

    begin: float
    end: float
    path: str


@contextmanager
def watched(underlay: Underlay, nodes: Mapping[str, Node], pair: Pair, ways: Sequence[Way]) -> Iterator[Counted]:
    """Counts what takes each of these ways between a pair; there is nothing where nobody can count."""
    counted: Counted = {}
    known = all(EVIDENT.fullmatch(way.evidence) for way in ways if way.through)
    if not known or underlay.middle != "router" or not nodes[underlay.middle].has("nft"):
        yield counted
        return
    middle = nodes[underlay.middle]
    file = middle.home / "paths.nft"
    middle.write(file, rules(underlay, pair, ways))
    if middle.try_run("nft", "-f", str(file)).status != 0:
        # A kernel without sets that grow by themselves: what the proof found stands.
        yield counted
        return
    began = time.time() % DAY
    try:
        yield counted
    finally:
        listed = middle.ask("env", "TZ=UTC", "nft", "-j", "list", "table", "inet", "paths").stdout
        middle.run("nft", "delete", "table", "inet", "paths")
        # A second of the clock began before what is measured did.
        before = round(began % 1, 3)
        counted |= {at - before: sizes for at, sizes in seconds(listed, int(began), ways).items()}


def rules(underlay: Underlay, pair: Pair, ways: Sequence[Way]) -> str:
    """A set for each way, and what is counted in it: all between the two ends, or what a relay sends them as such."""
    ends = ", ".join(f'"{underlay.towards[name].name}"' for name in (pair.first, pair.second))
    lines = []
    for number, way in enumerate(ways):
        come = f'"to-{way.through}"' if way.through else f"{{ {ends} }}"
        match = f"{_sent(way.evidence)} " if way.through else ""
        lines.append(f"        iifname {come} oifname {{ {ends} }} {match}add @way-{number} {{ meta hour }}")
    sets = "".join(SET.format(number=number) for number in range(len(ways)))
    return f"table inet paths {{\n{sets}{CHAIN.format(rules=chr(10).join(lines))}}}\n"


def _sent(evidence: str) -> str:
    """What of a relay's packets passes a pcap filter, as far as its protocol and its port go."""
    found = EVIDENT.fullmatch(evidence)
    assert found
    protocol, port = found.groups()
    return f"{protocol} sport {port}" if port else f"meta l4proto {protocol}"


def seconds(text: str, began: int, ways: Sequence[Way]) -> dict[int, dict[str, int]]:
    """The bytes of each path, by the second since the beginning, which is a second of the day."""
    paths = {f"way-{number}": way.path for number, way in enumerate(ways)}
    counted: dict[int, dict[str, int]] = {}
    for one in table(text, "nft").get("nftables", []):
        path = paths.get(str(value_at(one, "set", "name")))
        for element in value_at(one, "set", "elem") or []:
            hour, size = value_at(element, "elem", "val"), value_at(element, "elem", "counter", "bytes")
            if path and isinstance(hour, str) and isinstance(size, int):
                counted.setdefault((_of_day(hour) - began) % DAY, {})[path] = size
    return counted


def _of_day(text: str) -> int:
    """The second of the day: nft leaves seconds away where there are none."""
    hours, minutes, rest = [int(part) for part in (*text.split(":"), "0")][:3]
    return hours * 3600 + minutes * 60 + rest


def found(
    counted: Mapping[float, Mapping[str, int]], proven: Collection[str], afterwards: str | None = None
) -> list[Stretch]:
    """The stretches of one path each, in their order. The second in which a path gave way to another is of the latter.

    Paths that are `proven` need no share of the bytes. Silence between two stretches of the same path is part of it.
    `afterwards` is the path that a proof found at the end, where there was one.
    """
    real = _real(counted, proven)
    kept = {at: {name: size for name, size in sizes.items() if name in real} for at, sizes in sorted(counted.items())}
    named = [(at, _name(sizes)) for at, sizes in kept.items() if sum(sizes.values()) >= LEAST_BYTES]
    runs = [(name, [at for at, _ in some]) for name, some in groupby(named, lambda one: one[1])]
    merged: list[Stretch] = []
    for number, (name, at) in enumerate(runs):
        if name == MIXED and len(at) == 1 and 0 < number < len(runs) - 1:
            continue
        if name == MIXED and len(at) == 1 and number and afterwards in kept[at[0]]:
            name = str(afterwards)
        if merged and merged[-1].path == name:
            merged[-1] = merged[-1]._replace(end=at[-1] + 1)
        else:
            merged.append(Stretch(max(0, at[0]), at[-1] + 1, name))
    return merged


def _real(counted: Mapping[float, Mapping[str, int]], proven: Collection[str]) -> set[str]:
    """The paths that packets of the workload took."""
    sums: dict[str, int] = {}
    for name, size in (one for sizes in counted.values() for one in sizes.items()):
        sums[name] = sums.get(name, 0) + size
    least = max(MIN_RELAYED_BYTES, LEAST_SHARE * sum(sums.values()))
    return {name for name, size in sums.items() if name in proven or size >= least}


def _name(sizes: Mapping[str, int]) -> str:
    most = max(sizes, key=lambda name: sizes[name])
    return most if sizes[most] >= NEARLY_ALL * sum(sizes.values()) else MIXED


def said(stretches: list[Stretch]) -> str:
    """The paths as words, each from when on it was taken."""
    first, *others = stretches
    return ", ".join([first.path, *(f"{one.path} from {one.begin:.0f} s" for one in others)])


def split(stretches: list[Stretch], rows: Iterable[Sequence[Any]]) -> dict[str, list[float | None]]:
    """The median of each metric in each stretch, of rows that begin with metric, unit, value and moment.

    A metric without moments is of all stretches together and is left out, as is one that is seen in a single stretch.
    """
    found: dict[str, list[list[float]]] = {}
    for metric, unit, value, at, *_ in rows:
        for number, one in enumerate(stretches):
            if at is not None and one.begin <= at < one.end:
                found.setdefault(f"{metric} ({unit})", [[] for _ in stretches])[number].append(value)
    several = {name: parts for name, parts in found.items() if sum(map(bool, parts)) > 1}
    return {name: [median(part) if part else None for part in parts] for name, parts in several.items()}
