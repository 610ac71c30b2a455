"""The text's own numbers hold the claims of mesh-thesis-2026, wherever its tables and sentences have some."""

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import product

import pytest

from tests.helpers.study_files import Row, published, study

NAME = "mesh-thesis-2026"
SIX = "together"
PROFILES = {"baseline": "Baseline", "endpoints-low": "Low", "endpoints-medium": "Medium", "endpoints-high": "High"}
TUNINGS = {"default": "Default", "gvisor-full": "Full gVisor", "gvisor-reorder": "Reorder-only"}
SYSTEMS = {stack: name for name, stack in study(NAME)["study"]["systems"].items()} | {"nebula:mtu=1300": "Nebula"}
"""The published name of a stack. The text's Nebula had its own default MTU."""

FOUR = "WireGuard, VpnCloud, ZeroTier and Tinc"
"""Whose QUIC the text tells in one: the largest and the smallest of it."""

RANGE, ENDS = ("min", "max"), ("min", "max", "value")
SCATTER = (*RANGE, "sd", "p25", "p50", "p75")
SI = {"Mbit/s": 1e6, "ms": 1e-3, "%": 1e-2, "s": 1.0, "count": 1.0, "kB": 1e3, "MB": 1e6}
SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

Cell = Mapping[str, str]


def holds(value: float, expect: str) -> bool:
    if expect.startswith("equal within "):
        margin = 1 + float(expect.removeprefix("equal within ").removesuffix("%")) / 100
        return 1 / margin <= value <= margin
    if ".." in expect:
        low, high = map(float, expect.split(".."))
        return low <= value <= high
    sign, bound = expect.split()
    return SIGNS[sign](value, float(bound))


def numbers(cell: Cell) -> list[float]:
    """All that the text has of a cell of a claim, in SI units; nothing where it tells nothing."""
    system, profile = SYSTEMS.get(cell["stack"], ""), PROFILES.get(cell["profile"], "")
    workload, metric = cell["workload"].partition(":")[0], cell.get("metric", "throughput")
    if not system or not profile:
        return []
    if "verdict" in cell:
        return shares(workload, system, profile)
    if (statistic := cell.get("statistic")) and statistic != "sum":
        return statistics(cell, statistic, system, profile)
    of_workload = {"nix-cache": of_nix, "quic": of_quic, "recover": of_reboot, "rist": of_rist, "up": of_start}
    if workload in of_workload:
        return of_workload[workload](cell, system, profile, metric)
    if workload == "iperf3-udp":
        return of_udp(system, profile, metric)
    if workload in ("ping", "loaded-latency"):
        if metric == "rtt-up":
            return told(system, f"{profile}, under TCP load", "rtt")
        return rows("ping under impairment", system, profile, "rtt")
    return of_tcp(cell, system, profile, metric) if workload == "iperf3-tcp" else []


def of_tcp(cell: Cell, system: str, profile: str, metric: str) -> list[float]:
    tuning, what = TUNINGS[cell["tuning"]], "Parallel TCP" if SIX in cell["workload"] else "Single TCP"
    if metric in ("sent", "received"):
        return told(system, f"{what}, {profile}, {'sender' if metric == 'sent' else 'receiver'}", "throughput")
    if metric == "resent" and system == "Internal" and tuning != "Default":
        return rows("kernel tuning", system, f"Retransmit %, {profile}, {tuning}", "retransmit rate")
    if metric == "resent":
        return told(system, profile, "retransmit rate")
    if tuning != "Default" and system != "Internal":
        return told(system, f"{what}, {profile}, tuned", "throughput")
    if tuning != "Default":
        return rows("kernel tuning", system, f"{what}, {profile}, {tuning}", "throughput")
    if cell.get("statistic") == "sum":
        return rows("parallel TCP under impairment", system, profile, "throughput")
    if metric == "cwnd":
        return told(system, f"{what}, {profile}", metric, ("max",))
    if metric == "retransmits":
        return rows("TCP at baseline", system, profile, metric)
    return rows("TCP under impairment", system, profile, metric)


def of_udp(system: str, profile: str, metric: str) -> list[float]:
    return (
        rows("UDP at baseline", system, profile, metric)
        or told(system, f"UDP, {profile}", metric)
        or told(system, "UDP, all profiles that completed", metric, RANGE)
    )


def of_nix(cell: Cell, system: str, profile: str, metric: str) -> list[float]:
    tuning = TUNINGS[cell["tuning"]]
    if tuning == "Default":
        return rows("Nix cache under impairment", system, profile, "time")
    if system == "Internal":
        return rows("kernel tuning", system, f"Nix cache, {profile}, {tuning}", "time")
    return told(system, f"Nix cache, {profile}, tuned", "time")


def of_quic(cell: Cell, system: str, profile: str, metric: str) -> list[float]:
    names = {"first-byte": "time to first byte", "handshake": "connection establishment"}
    if metric != "throughput":
        return told(system, f"qperf, {profile}", names.get(metric, "cpu"))
    together = told(FOUR, f"QUIC, {profile}", metric, RANGE) if system in FOUR else []
    return told(system, f"QUIC, {profile}", metric) or together


def of_rist(cell: Cell, system: str, profile: str, metric: str) -> list[float]:
    return rows("RIST under impairment", system, profile, "video quality") if metric == "quality" else []


def of_reboot(cell: Cell, system: str, profile: str, metric: str) -> list[float]:
    """Of each node, whichever it is here, or else the mean."""
    return nodes(system) or told(system, "reboot", "reconnection")


def of_start(cell: Cell, system: str, profile: str, metric: str) -> list[float]:
    return told(system, "first-time connectivity", metric, ENDS)


def statistics(cell: Cell, statistic: str, system: str, profile: str) -> list[float]:
    metric = cell.get("metric", "throughput")
    if statistic == "spread":
        one_by_one = nodes(system) if metric == "blocked" else told(system, f"Single TCP, {profile}", metric, RANGE)
        return [max(one_by_one) / min(one_by_one)] if one_by_one else []
    if statistic == "mean":
        return numbers({key: value for key, value in cell.items() if key != "statistic"})
    # Of 300 answers, the text has the latest one alone.
    return told(system, profile, metric, ("max",)) or told(system, f"ping, {profile}", metric, ("max",))


def shares(workload: str, system: str, profile: str) -> list[float]:
    """The share of a workload's trials that are ok: by a dash, by a missing row, or by the answers that are missing."""
    if workload == "nix-cache":
        key = ("Nix cache under impairment", system, profile, "time")
        return [float(row.value != "") for row in published(NAME) if row[:4] == key]
    if workload == "iperf3-udp" and profile == "Baseline":
        return [float(bool(rows("UDP at baseline", system, profile, "throughput")))]
    if workload == "ping":
        return [1 - lost for lost in told(system, f"ping, {profile}", "loss")]
    return [1.0] if workload == "quic" and of_quic({}, system, profile, "throughput") else []


def nodes(system: str) -> list[float]:
    """How long each node of a system takes after a reboot."""
    conditions = sorted({row.condition for row in published(NAME) if row.condition.startswith("reboot, ")})
    return [value for condition in conditions for value in told(system, condition, "reconnection")]


def told(system: str, condition: str, metric: str, statistics: tuple[str, ...] = ()) -> list[float]:
    return rows("running text", system, condition, metric, statistics)


def rows(table: str, system: str, condition: str, metric: str, statistics: tuple[str, ...] = ()) -> list[float]:
    """The numbers of these statistics, or else of all that tell of the middle."""
    key = (table, system, condition, metric)
    there = [row for row in published(NAME) if row[:4] == key and row.value]
    if statistics:
        return [in_si(row) for row in there if row.statistic in statistics]
    return [in_si(row) for row in there if row.statistic not in SCATTER]


def in_si(row: Row) -> float:
    """A published number; just below it where the text has it as a bound that is not reached."""
    value = float(row.value) * SI[row.unit]
    return math.nextafter(value, 0) if ": under " in row.source else value


def values(comparison: Mapping[str, Cell]) -> Iterator[float]:
    """What a comparison is about, of all numbers that the text has of it."""
    left = comparison["left"]
    if "right" not in comparison:
        yield from numbers(left)
        return
    right = {**left, **comparison["right"]}
    if right.get("metric") == "sent":
        left = {**left, "metric": "received"}
    yield from (one / other for one, other in product(numbers(left), numbers(right)) if other)


def test_the_published_numbers_themselves_are_what_the_claims_say() -> None:
    tried: Counter[str] = Counter()
    for claim in study(NAME)["claim"]:
        for comparison in claim.get("compare", []):
            found = list(values(comparison))
            for value in found:
                assert holds(value, comparison["expect"]), (claim["name"], comparison, value)
            tried[kind(comparison["left"])] += bool(found)
    assert tried == {"": 345, "sum": 44, "verdict": 41, "up": 6, "spread": 4, "max": 1, "p99": 1}


def kind(cell: Cell) -> str:
    """What a comparison asks for: a statistic, a verdict, the start, or none of these."""
    return cell.get("statistic") or ("verdict" if "verdict" in cell else "up" if cell["workload"] == "up" else "")


BASELINE = {"profile": "baseline", "tuning": "default"}
HIGH = {"profile": "endpoints-high", "tuning": "default"}
PING, EACH = "ping:count=300,interval=0.1", "iperf3-tcp:duration=1,pairs=each"
NIX, UDP = "nix-cache:packages=40,size=100kB", "iperf3-udp:rate=0,length=1200,duration=1"
REBOOT = {"workload": "recover:event=reboot-all", "metric": "blocked"}


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ({"stack": "zerotier", "workload": "up", "metric": "connect", **BASELINE}, [8, 17]),
        ({"stack": "nebula", "workload": NIX, "verdict": "ok", **HIGH}, [1]),
        ({"stack": "none", "workload": NIX, "verdict": "ok", **HIGH}, [0]),
        ({"stack": "tinc", "workload": UDP, "verdict": "ok", **BASELINE}, [1]),
        ({"stack": "mycelium", "workload": UDP, "verdict": "ok", **BASELINE}, [0]),
        ({"stack": "hyprspace", "workload": PING, "verdict": "ok", **HIGH}, [0.889]),
        ({"stack": "mycelium", "workload": EACH, "statistic": "spread", **BASELINE}, [379 / 122]),
        ({"stack": "yggdrasil", "statistic": "spread", **REBOOT, **BASELINE}, [97.3 / 7.1]),
        ({"stack": "nebula", "node": "a", **REBOOT, **BASELINE}, [10.06, 10.06, 10.07]),
        ({"stack": "zerotier", "workload": PING, "metric": "rtt", "statistic": "max", **BASELINE}, [0.0086]),
        ({"stack": "zerotier", "workload": PING, "metric": "rtt", "statistic": "mean", **BASELINE}, [0.00128]),
        ({"stack": "easytier:transport=tcp", "workload": PING, "metric": "rtt", "statistic": "p99", **HIGH}, [0.29]),
        ({"stack": "hyprspace", "workload": EACH, "metric": "sent", **BASELINE}, [367.9e6]),
        ({"stack": "nebula:mtu=1300", "workload": "rist", "metric": "quality", **BASELINE}, [0.998]),
        ({"stack": "headscale:gso=off", "workload": "iperf3-tcp", **BASELINE}, []),
    ],
)
def test_of_a_cell_the_text_has(cell: Cell, expected: list[float]) -> None:
    assert numbers(cell) == pytest.approx(expected)


def test_a_bound_that_is_not_reached_lies_below_its_number() -> None:
    found = numbers({"stack": "headscale", "workload": "up", "metric": "connect", **BASELINE})
    assert len(found) == 1 and holds(found[0], "< 0.05") and not holds(found[0], "< 0.0499")
