"""The lines of a journal of two shards, one of which came to its end."""

from typing import Any

from tests.helpers.fakes import shard
from tunbench.journal import journal
from tunbench.plan.shard import Shard

Line = dict[str, Any]

NONE, WIREGUARD = shard("none", 1, "ping:count=5"), shard("wireguard", 2, "ping:count=5")

RUN: Line = {
    "event": "run",
    "journal": journal.VERSION,
    "planned": 4,
    "overrides": {},
    "manifest": {"lab": {"kind": "vm", "clock": "virtual"}, "image": {"digest": "abc"}},
}


def state(one: Shard, name: str, **fields: Any) -> Line:
    return {"shard": one.id, "event": "shard", "state": name, **fields}


def phase(one: Shard, name: str, at: float) -> Line:
    return {"shard": one.id, "event": "phase", "name": name, "at": at}


def trial(one: Shard, workload: str, value: float, verdict: str = "ok", reason: str = "") -> Line:
    return {
        **{"shard": one.id, "event": "trial", "workload": workload, "verdict": verdict, "reason": reason},
        **{"pair": "a-b", "node": "a", "began": 1.0, "ended": 2.0, "logs": {"a/x.log": "words"}},
        "samples": [
            ["rtt", "s", value, 0.0, "a-b", "a"],
            ["rtt", "s", value * 2, 0.01, "a-b", "a"],
            ["loss", "ratio", 0.0, None, "a-b", "a"],
        ],
    }


EVENTS = [
    RUN,
    state(NONE, "started", spec=NONE.spec()),
    state(WIREGUARD, "started", spec=WIREGUARD.spec()),
    phase(NONE, "nodes", 2.5),
    phase(WIREGUARD, "nodes", 2.0),
    phase(NONE, "up", 3.0),
    trial(NONE, "up", 0.5),
    phase(NONE, "end", 7.0),
    {"shard": NONE.id, "event": "warning", "name": "netem-limit", "text": "router/to-b: full"},
    {"shard": NONE.id, "event": "warning", "name": "netem-limit", "text": "router/to-b: full"},
    {"shard": NONE.id, "event": "outside", "packets": 3, "first": ["one", "two"]},
    {"shard": NONE.id, "event": "version", "program": "ping", "text": "ping from iputils 20221126"},
    trial(NONE, "ping:count=5", 0.1),
    state(NONE, "finished", wall=9.0),
    trial(WIREGUARD, "up", 0.7, "failed", "it broke"),
]
