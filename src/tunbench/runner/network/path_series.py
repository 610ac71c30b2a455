"""Which way packets went, second by second: what the router passed on to endpoints, by where it came from.

The kernel counts while a workload lasts, in a set whose elements are made as packets come. Nobody looks at it before
the workload has ended, so that nothing runs beside it.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from statistics import median
from typing import Any, NamedTuple

from tunbench.runner.declare.path import DIRECT, Paths
from tunbench.runner.network.underlay import Underlay
from tunbench.runner.node.json_output import table, value_at
from tunbench.runner.node.node import Node

RULES = """\
table inet paths {{
    set seen {{
        typeof {ip} saddr . {ip} daddr . meta hour
        size 65535
        flags dynamic
        counter
    }}
    chain passed_on {{
        # Behind all that may drop a packet here: one that was tried and went nowhere took no path.
        type filter hook postrouting priority filter; policy accept;
        oifname {{ {interfaces} }} add @seen {{ {ip} saddr . {ip} daddr . meta hour }}
    }}
}}
"""

MIXED = "mixed"
"""What stands in the place of a path where packets took several at once."""

NEARLY_ALL = 0.9
"""The part of the bytes of a second from which on they went that way."""

BUSY_SHARE, LEAST_BYTES = 0.1, 500
"""A second with less than that part of the busiest one's bytes, or with fewer bytes, says nothing of a path: control
planes speak when they like."""

DAY = 86400


class Stretch(NamedTuple):
    """A path, from when until when packets took it, in seconds since the beginning, known to a second."""

    begin: float
    end: float
    path: str


@contextmanager
def watched(underlay: Underlay, nodes: Mapping[str, Node], paths: Paths) -> Iterator[list[Stretch]]:
    """Gets the stretches of one path each when it ends; none where packets have no choice, or nobody can count."""
    stretches: list[Stretch] = []
    if len(paths) < 2 or underlay.middle != "router" or not nodes[underlay.middle].has("nft"):
        yield stretches
        return
    middle = nodes[underlay.middle]
    rules = middle.home / "paths.nft"
    interfaces = ", ".join(f'"{underlay.towards[name].name}"' for name in underlay.endpoints)
    ip = "ip6" if next(iter(underlay.endpoints.values())).family == 6 else "ip"
    middle.write(rules, RULES.format(ip=ip, interfaces=interfaces))
    if middle.try_run("nft", "-f", str(rules)).status != 0:
        # A kernel without sets that grow by themselves: what the proof found stands.
        yield stretches
        return
    began = time.time() % DAY
    try:
        yield stretches
    finally:
        listed = middle.ask("env", "TZ=UTC", "nft", "-j", "list", "set", "inet", "paths", "seen").stdout
        middle.run("nft", "delete", "table", "inet", "paths")
        seen = found(seconds(listed, int(began), _ways(underlay, paths)))
        # A second of the clock began before what is measured did.
        before = round(began % 1, 3)
        stretches += [Stretch(max(0, one.begin - before), one.end - before, one.path) for one in seen]


def _ways(underlay: Underlay, paths: Paths) -> dict[str, str]:
    """The path of what comes from an address: directly from an endpoint, or from a relay. Others are none."""
    ways = {leaf.address: DIRECT for leaf in underlay.endpoints.values()}
    for role, leaf in underlay.roles.items():
        through = [name for name, one in paths.items() if one.through == role]
        if through:
            ways[leaf.address] = through[0] if len(through) == 1 else f"through {role}"
    return ways


def seconds(text: str, began: int, ways: Mapping[str, str]) -> dict[int, dict[str, int]]:
    """The bytes of each path, by the second since the beginning, which is a second of the day."""
    counted: dict[int, dict[str, int]] = {}
    for one in table(text, "nft").get("nftables", []):
        for element in value_at(one, "set", "elem") or []:
            words, size = value_at(element, "elem", "val", "concat"), value_at(element, "elem", "counter", "bytes")
            if not isinstance(words, list) or len(words) != 3 or words[0] not in ways or not isinstance(size, int):
                continue
            second = counted.setdefault((_of_day(words[2]) - began) % DAY, {})
            second[ways[words[0]]] = second.get(ways[words[0]], 0) + size
    return counted


def _of_day(text: str) -> int:
    """The second of the day: nft leaves seconds away where there are none."""
    hours, minutes, rest = [int(part) for part in (*text.split(":"), "0")][:3]
    return hours * 3600 + minutes * 60 + rest


def found(counted: Mapping[int, Mapping[str, int]]) -> list[Stretch]:
    """The stretches of one path each, in their order. The second in which a path gave way to another is of the latter.

    Silence between two of the same path is part of it.
    """
    busiest = max((sum(sizes.values()) for sizes in counted.values()), default=0)
    least = max(LEAST_BYTES, BUSY_SHARE * busiest)
    named = [(at, _name(sizes)) for at, sizes in sorted(counted.items()) if sum(sizes.values()) >= least]
    runs = [(name, [at for at, _ in some]) for name, some in groupby(named, lambda one: one[1])]
    kept = [
        (name, at)
        for number, (name, at) in enumerate(runs)
        if name != MIXED or len(at) > 1 or not 0 < number < len(runs) - 1
    ]
    merged: list[Stretch] = []
    for name, at in kept:
        if merged and merged[-1].path == name:
            merged[-1] = merged[-1]._replace(end=at[-1] + 1)
        else:
            merged.append(Stretch(at[0], at[-1] + 1, name))
    return merged


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
