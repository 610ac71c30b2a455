"""Synthetic journals of any size: what a large run leaves behind, from a seeded generator."""

import json
import math
import random
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from tests.helpers.small_plans import usual_values
from tunbench.journal import journal

STACKS = (
    *("none", "wireguard", "openvpn", "vxlan", "gre", "ipip", "ipsec:mode=tunnel", "ipsec:mode=transport+vxlan"),
    *("wireguard+vxlan", "macsec", "tinc", "nebula", "geneve", "l2tp", "fou", "zerotier"),
)
USUAL = {name: value.spec() for name, value in usual_values().items()}
DELAYS = ("0ms", "5ms", "10ms", "20ms", "40ms")
TRIALS = ("ping:count={}", "iperf3-tcp:duration=1", "rr:proto=tcp")
WHOLE = {"busy": "ratio", "user": "s", "system": "s", "softirq": "s", "context-switches": "count", "memory": "B"}


def write(folder: Path, samples: int, stacks: int = 8, profiles: int = 5, repeats: int = 10, seed: int = 1) -> int:
    """Writes a journal of about so many samples, most of them round-trip times; the number that it has."""
    shards = stacks * profiles * repeats
    replies = max(0, samples // shards - 60) // 2
    folder.mkdir(parents=True, exist_ok=True)
    rng, count = random.Random(seed), 0
    with (folder / journal.NAME).open("w") as file:
        for event in _events(stacks, profiles, repeats, replies, rng):
            count += len(event.get("samples", ()))
            file.write(json.dumps(event, separators=(",", ":")) + "\n")
    return count


def _events(stacks: int, profiles: int, repeats: int, replies: int, rng: random.Random) -> Iterator[dict[str, Any]]:
    names = [*STACKS, *(f"wireguard:mtu={1500 - number}" for number in range(max(0, stacks - len(STACKS))))][:stacks]
    delays = [*DELAYS, *(f"{50 + 10 * number}ms" for number in range(max(0, profiles - len(DELAYS))))][:profiles]
    manifest = {
        "tunbench": {"version": "0.1.0"},
        "plan": {"name": "large", "seed": 1, "repeats": repeats, "stacks": names},
        "lab": {"kind": "vm", "clock": "virtual"},
    }
    planned = len(TRIALS) * stacks * profiles * repeats
    yield {"event": "run", "journal": journal.VERSION, "manifest": manifest, "planned": planned}
    for number, (repeat, delay, stack) in enumerate(product(range(1, repeats + 1), delays, names)):
        shard = {"shard": f"{number:012x}"}
        terms = {"delay": float(delay[:-2]) / 1000}
        yield {**shard, "event": "shard", "state": "started", "spec": _spec(stack, delay, terms, repeat)}
        slow = 1 + names.index(stack)
        yield _trial(shard, "up", [["connect", "s", 0.01 * slow * rng.uniform(0.9, 1.1), None, "a-b", "a"]])
        for trial in TRIALS:
            yield _trial(shard, trial.format(replies), _samples(trial, slow, terms["delay"], replies, rng))
        yield {**shard, "event": "shard", "state": "finished"}


def _spec(stack: str, delay: str, terms: dict[str, float], repeat: int) -> dict[str, Any]:
    profile = {"name": f"wan:delay={delay}", "forward": terms, "reverse": terms, "placement": "router"}
    return {"stack": stack, "profile": profile, **USUAL, "repeat": repeat, "seed": 1000 + repeat}


def _trial(shard: dict[str, str], workload: str, samples: list[list[Any]]) -> dict[str, Any]:
    return {**shard, "event": "trial", "workload": workload, "verdict": "ok", "reason": "", "samples": samples}


def _samples(trial: str, slow: int, delay: float, replies: int, rng: random.Random) -> list[list[Any]]:
    place = ["a-b", "a"]
    probed = [
        [name, unit, rng.gauss(slow, 0.1) / (1000 if unit == "ratio" else 1), None, "a-b", "lab"]
        for name, unit in WHOLE.items()
    ]
    probed.append(["cost", "s/B", slow * 1e-9 * rng.gauss(1, 0.02), None, "a-b", "lab"])
    probed.append(["cost-packet", "s", slow * 1e-6 * rng.gauss(1, 0.02), None, "a-b", "lab"])
    if trial.startswith("iperf3"):
        speed = 1e10 / slow / (1 + 100 * delay) * rng.gauss(1, 0.03)
        series = [["throughput", "bit/s", speed * rng.gauss(1, 0.05), second / 10, *place] for second in range(10)]
        return [["throughput", "bit/s", speed, None, *place], *series, *probed]
    base = 2 * delay + 1e-5 * slow
    times = [["rtt", "s", base * math.exp(rng.gauss(0, 0.1)), second / 100, *place] for second in range(replies)]
    return [*times, ["loss", "ratio", rng.random() / 100, None, *place], *probed]
