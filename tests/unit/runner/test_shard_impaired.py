"""A shard whose network does something to packets: what is installed, refused, told and warned of as it lives."""

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.fakes import (
    MARKER,
    Answer,
    Call,
    FakeEvents,
    FakeLabShell,
    captured,
    move_home,
    with_profile,
)
from tunbench.plan.axes.profile import read_profile
from tunbench.plan.shard import Shard
from tunbench.runner.declare.access import Access, Accesses
from tunbench.runner.declare.link import Direction, Link
from tunbench.runner.declare.metrics import COUNTED
from tunbench.runner.network.emulated import EmulatedNetwork
from tunbench.runner.network.underlay import WIRE
from tunbench.runner.node import node
from tunbench.runner.node.shell import Result
from tunbench.runner.shard import live

PING = "ping:count=5,interval=0.01"
LINE = Link("line", Direction(50e6), Direction(50e6))
SHOW = "tc -s -j qdisc show"


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(os, "urandom", lambda size: MARKER[:size])
    folder = move_home(monkeypatch, tmp_path, "made")
    (node.ROOT / "sys/module/ifb").mkdir(parents=True)
    return folder


def lived(home: Path, one: Shard, answers: dict[str, Answer] | None = None) -> FakeEvents:
    events = FakeEvents()
    live(one.spec(), EmulatedNetwork(FakeLabShell(home, "proof-none.pcap", answers)), events)
    return events


def impaired(link: Link = WIRE, **terms: str) -> Shard:
    one = with_profile(read_profile({"name": "any", **terms}), "none", 2, PING)
    return replace(one, values={**one.values, "link": link})


def verdicts(events: FakeEvents) -> list[tuple[str, str]]:
    return [(trial["workload"], trial["verdict"]) for trial in events.of("trial")]


def warned(events: FakeEvents) -> list[tuple[str, str]]:
    return [(one["name"], one["text"]) for one in events.of("warning")]


class Lacking:
    """A kernel without some kind of qdisc."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __call__(self, call: Call) -> Result:
        lacks = self.kind in call.stdin
        return Result(1, "", "Error: Specified qdisc kind is unknown.\n") if lacks else Result(0, "", "")


class Overflowing:
    """A node whose kernel has counted full sockets after the workload, as after each one that follows."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, call: Call) -> Result:
        self.asked["all"] += 1
        # Four nodes are looked at before the first workload.
        return Result(0, captured("counters-idle.txt" if self.asked["all"] <= 4 else "counters-full.txt"), "")


class Filling:
    """Interfaces that show these qdiscs; nothing has passed them until the workload begins."""

    def __init__(self, name: str) -> None:
        self.full: list[dict[str, Any]] = json.loads(captured(name))
        self.empty = [{**one, "packets": 0, "bytes": 0, "drops": 0, "qlen": 0} for one in self.full]
        self.asked: Counter[str] = Counter()

    def __call__(self, call: Call) -> Result:
        interface = call.argv[-1]
        self.asked[interface] += 1
        # Once as it is installed, and once before the first workload.
        return Result(0, json.dumps(self.full if self.asked[interface] > 2 else self.empty), "")


def test_a_kernel_without_netem_makes_the_trials_unsupported(home: Path) -> None:
    events = lived(home, impaired(delay="1ms"), {"tc -batch": Lacking("netem")})
    assert verdicts(events) == [("up", "ok"), (PING, "unsupported")]
    assert events.of("trial")[1]["reason"] == "this kernel has no netem (module sch_netem)"
    assert warned(events) == [
        ("link-differs", "this kernel has no netem (module sch_netem): round trips are 300 µs shorter")
    ]


def test_a_kernel_without_tbf_makes_all_trials_of_a_rate_unsupported(home: Path) -> None:
    events = lived(home, impaired(LINE), {"tc -batch": Lacking("tbf")})
    assert verdicts(events) == [("up", "unsupported"), (PING, "unsupported")]
    assert {one["reason"] for one in events.of("trial")} == {"this kernel has no tbf (module sch_tbf)"}


def test_room_that_netem_had_not_is_warned_of(home: Path) -> None:
    events = lived(home, impaired(delay="50ms"), {SHOW: Filling("qdisc-full.json")})
    text = "1727 of 1941 packets were dropped, more than a loss of 0.000% explains: there was no room"
    assert warned(events) == [("netem-limit", f"{PING}: router/to-{name}: {text}") for name in ("b", "a")]
    told = {
        "netem": {"packets": 214, "bytes": 264664, "drops": 1727, "qlen": 1},
        "link": dict.fromkeys(("packets", "bytes", "drops", "qlen"), 0),
    }
    assert [(one["interface"], one["workload"], one["counters"]) for one in events.of("queue")] == [
        ("to-b", PING, told),
        ("to-a", PING, told),
    ]


def test_losses_that_were_asked_for_are_not_warned_of(home: Path) -> None:
    events = lived(home, impaired(loss="10%"), {SHOW: Filling("qdisc-loss.json")})
    assert warned(events) == []
    assert [one["counters"]["netem"]["drops"] for one in events.of("queue")] == [18, 18]


def test_a_netem_that_differs_is_warned_of(home: Path) -> None:
    events = lived(home, impaired(loss="20%"), {SHOW: captured("qdisc-loss.json")})
    assert warned(events) == [
        ("netem-differs", f"router/to-{name}: loss: asked for 0.2, installed is 0.1") for name in ("b", "a")
    ]
    assert verdicts(events) == [("up", "ok"), (PING, "ok")]


def test_what_the_kernel_made_of_a_link_is_told_and_its_queues_are_watched(home: Path) -> None:
    events = lived(home, impaired(LINE), {SHOW: captured("qdisc-link.json")})
    assert warned(events) == []
    places = [("a", "eth0"), ("b", "eth0"), ("router", "to-a"), ("router", "to-b")]
    assert [(one["node"], one["interface"]) for one in events.of("link")] == places
    assert [(one["node"], one["interface"]) for one in events.of("queue")] == places
    assert verdicts(events) == [("up", "ok"), (PING, "ok")]


def test_links_stand_before_the_stack_and_impairments_come_after_its_proof(home: Path) -> None:
    shown = [*json.loads(captured("qdisc-link.json"))]
    events = lived(home, impaired(LINE, delay="10ms", duplicate="1%"), {SHOW: json.dumps(shown)})
    order = [one.get("name", one["event"]) for one in events.told if one["event"] in ("phase", "link", "impairment")]
    assert order == [
        *("nodes", "underlay", "link", "link", "link", "link", "watch", "prepare", "up", "proof", "impair"),
        *("impairment", "impairment", "trial", "down", "end"),
    ]
    assert warned(events) == []


def test_fragments_are_told_by_link_where_one_is_narrower_than_endpoints_know(home: Path) -> None:
    answers: dict[str, Answer] = {"list table inet fragments": captured("fragments.json")}
    one = impaired()
    values = {**one.values, "access": Accesses("home", Access("home", Link("narrow", mtu=1400)))}
    events = lived(home, replace(one, values=values), answers)
    [told] = events.of("fragments")
    assert told["workload"] == PING
    assert {
        "node": "gateway-a",
        "interface": "wan",
        "link": "from router to gateway-a",
        "layer": "",
        "fragments": 5,
    } in (told["passed"])
    [text] = [text for name, text in warned(events) if name == "fragmented"]
    assert text.startswith(f"{PING}: 5 fragments from ")
    # They are counted from the workload on, and the rules are gone when the stack is.
    loads = [at for at, one in enumerate(events.told) if "fragments.nft" in one.get("shell", "")]
    assert min(loads) < [one.get("name") for one in events.told].index("trial")
    assert any("delete table inet fragments" in one for one in events.commands)


def test_where_nothing_can_be_cut_no_rule_looks_for_fragments(home: Path) -> None:
    assert not any("fragments" in one for one in lived(home, impaired()).commands)


def test_what_nodes_count_is_measured_beside_a_workload(home: Path) -> None:
    events = lived(home, impaired(), {"net/xfrm_stat": Overflowing()})
    up, ping = events.of("trial")
    counted = [[one[0], one[2], one[5]] for one in ping["samples"] if one[0] in COUNTED]
    assert counted == [
        [metric, value, node]
        for node in ("a", "b")
        for metric, value in (("layer-drops", 0.0), ("socket-drops", 83.0), ("packets-cut", 0.0))
    ]
    assert not {one[0] for one in up["samples"]} & COUNTED.keys()
    assert ("layer-drops", f"{PING}: b: 56 datagrams found the socket of a daemon full, at UDP port 4242, 51820") in (
        warned(events)
    )


def test_beside_a_workload_that_failed_nothing_is_measured(home: Path) -> None:
    answers: dict[str, Answer] = {"ping -n -c 5 -i 0.01": Result(2, "", "no"), "net/xfrm_stat": Overflowing()}
    assert lived(home, impaired(), answers).of("trial")[1]["samples"] == []
