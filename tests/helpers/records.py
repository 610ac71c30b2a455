"""Synthetic records: what a run could have measured, from plain numbers and a seeded generator."""

import random
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tunbench.journal.record import Record, Sample, TrialResult, Warned
from tunbench.plan.shard import canonical
from tunbench.runner.declare import axes
from tunbench.runner.declare.verdicts import Verdict

PING = "ping:count=100,interval=0.01"
TCP = "iperf3-tcp:duration=2"
UP = "up"

SPEEDS = {
    "none": 12.0e9,
    "ipip": 9.1e9,
    "gre": 8.7e9,
    "vxlan": 5.2e9,
    "wireguard": 0.61e9,
    "wireguard+vxlan": 0.44e9,
    "openvpn:cipher=AES-256-GCM": 0.18e9,
    "none:underlay=ethernet": 15.0e9,
    "macvlan": 14.2e9,
}
"""Bits a second of each stack without impairment."""

DELAYS = {"baseline": 0.0, "medium": 8.64e-3}
"""Seconds that each profile adds to a round trip."""

MANIFEST: dict[str, Any] = {
    "tunbench": {"version": "0.1.0", "commit": "0123456789abcdef"},
    "plan": {"name": "quick", "seed": 1, "repeats": 3, "stacks": list(SPEEDS), "profiles": list(DELAYS)},
    "lab": {"kind": "vm", "clock": "virtual"},
    "image": {
        "digest": "sha256:5f0c6d1e",
        "packages": {"iperf3": "3.12-1+deb12u1", "wireguard-tools": "1.0.20210914-1"},
    },
    "qemu": "QEMU emulator version 7.2.17 (Debian 1:7.2+dfsg-7+deb12u13)",
    "command": ["qemu-system-x86_64", "-icount", "shift=0,sleep=off", "-append", "quiet tsc=reliable"],
    "host": {"processor": "AMD EPYC 7B13", "cores": 2, "kernel": "6.1.0-28-amd64"},
    "programs": {"iperf3": "3.12", "openvpn": "2.6.3", "wg": "1.0.20210914"},
    "kernel": "6.1.0-28-amd64",
    "fingerprint": "9c56cc51b374c3ba189210d5b6d4bf57790d351c96c47c02190ecf1e430635ab",
}


def cell(stack: str, profile: str = "baseline", workload: str = PING, repeat: int = 1) -> dict[str, Any]:
    """What identifies a trial; its seed follows from its repeat."""
    return {
        **{"stack": stack, "profile": profile, **axes.USUAL},
        **{"workload": workload, "repeat": repeat, "seed": 1000 + repeat},
    }


def row(
    where: Mapping[str, Any], metric: str, unit: str, value: float, at: float | None = None, node: str = "a"
) -> dict[str, Any]:
    """One sample."""
    place = {"lab": "vm", "clock": "virtual", **where, "pair": "a-b", "node": node}
    return {**place, "metric": metric, "unit": unit, "at": at, "value": value}


def trial(
    where: Mapping[str, Any],
    samples: Sequence[tuple[Any, ...]] = (),
    verdict: str = "ok",
    reason: str = "",
    **more: Any,
) -> TrialResult:
    """One trial; each sample is metric, unit, value and, in a series, its moment, or else None, its node and pair."""
    folder = f"trials/{where['stack']}/{where['profile']}/{where['workload']}/{where['repeat']}"
    fields = {"lab": "vm", "clock": "virtual", "samples": tuple(_sample(*sample) for sample in samples), **more}
    return TrialResult(MappingProxyType(dict(where)), Verdict(verdict), reason, folder, **fields)


def _sample(
    metric: str, unit: str, value: float, at: float | None = None, node: str = "a", pair: str = "a-b"
) -> Sample:
    return metric, unit, value, at, pair, node


def record(trials: Sequence[TrialResult], **more: Any) -> Record:
    """A record of these trials, in the order that a journal is read in."""
    trials = sorted(trials, key=lambda one: canonical(dict(one.cell)))
    fields = {
        "manifest": MANIFEST,
        "warnings": (),
        "durations": {},
        "interrupted": (),
        "planned": sum(one.cell["workload"] != UP for one in trials),
        **more,
    }
    return Record(trials=tuple(trials), **fields)


def pinged(stack: str, profile: str, repeat: int, rng: random.Random) -> TrialResult:
    """A hundred echoes, some of them lost."""
    base = 3e-5 + 2e5 / SPEEDS[stack] + 0.6 * DELAYS[profile]
    replies = [
        ("rtt", "s", round(base + rng.expovariate(1 / (4e-6 + 0.4 * DELAYS[profile])), 6), round(number * 0.01, 6))
        for number in range(100)
        if not DELAYS[profile] or rng.random() > 0.0199
    ]
    whole = [("loss", "ratio", 1 - len(replies) / 100), ("duplicates", "count", 0.0)]
    return trial(cell(stack, profile, PING, repeat), [*replies, *whole])


def sent(stack: str, profile: str, repeat: int, rng: random.Random) -> TrialResult:
    """Two seconds of TCP."""
    limit = 14e6 if DELAYS[profile] else SPEEDS[stack]
    speed = min(limit, SPEEDS[stack]) * rng.gauss(1, 0.09 if DELAYS[profile] else 0.012)
    series = [("throughput", "bit/s", speed * rng.gauss(1, 0.05), float(second)) for second in range(2)]
    whole = [
        ("throughput", "bit/s", speed),
        ("retransmits", "count", float(rng.randrange(90) if DELAYS[profile] else 0)),
    ]
    return trial(cell(stack, profile, TCP, repeat), [*series, *whole, *spent(stack, repeat)])


def spent(stack: str, repeat: int) -> list[tuple[Any, ...]]:
    """What a machine that is busy all the time spends on a byte and on a packet, and the memory of daemons."""
    cost = 8 / SPEEDS[stack] * (1 + repeat / 100)
    daemon = 7e6 if "openvpn" in stack else 0.0
    return [
        ("cost", "s/B", cost, None, "lab"),
        ("cost-packet", "s", cost * 1400, None, "lab"),
        *(("memory", "B", daemon, None, node) for node in ("a", "b")),
    ]


def came_up(stack: str, profile: str, repeat: int, rng: random.Random) -> TrialResult:
    """The time that a stack took to come up."""
    seconds = 0.02 + 1.2 * ("openvpn" in stack) + rng.random() / 100
    return trial(cell(stack, profile, UP, repeat), [("connect", "s", seconds)])


def realistic(repeats: int = 3, seed: int = 1) -> Record:
    """Nine stacks, two profiles, three workloads; one trial failed, and a stack is unsupported under one profile."""
    rng = random.Random(seed)
    trials = []
    for repeat in range(1, repeats + 1):
        for profile in DELAYS:
            for stack in SPEEDS:
                if (stack, profile) == ("macvlan", "medium"):
                    why = "this kernel cannot make its interface (module macvlan): ip link add: Unknown device type"
                    trials += [
                        trial(cell(stack, profile, workload, repeat), verdict="unsupported", reason=why)
                        for workload in (UP, PING, TCP)
                    ]
                    continue
                trials += [make(stack, profile, repeat, rng) for make in (came_up, pinged, sent)]
                if (stack, profile, repeat) == ("openvpn:cipher=AES-256-GCM", "medium", 2):
                    trials[-1] = trial(
                        trials[-1].cell,
                        verdict="failed",
                        reason="iperf3 did not end within 20 s after the test's duration",
                        logs={
                            "a/openvpn.log": "Initialization Sequence Completed\nInactivity timeout, restarting\n" * 8,
                            "b/iperf3.log": "-----\nServer listening on 5201\n",
                        },
                    )
    warned = (
        Warned(
            "netem-limit",
            "none, medium, repeat 2",
            "router/eth1: 214 of 20011 packets were dropped, more than a loss of 1.000% explains",
        ),
    )
    return record(
        trials,
        manifest={**MANIFEST, "plan": {**MANIFEST["plan"], "repeats": repeats}},
        warnings=warned,
        durations={"boot": 243.0, "up": 61.0, "proof": 8.0, "trial": 1290.0, "down": 4.0},
    )
