"""Topologies with more than a pair: every pair is proven, and its traffic goes where the topology says."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.measuring import execute
from tunbench.journal import journal
from tunbench.journal.record import Record

pytestmark = [pytest.mark.vm, pytest.mark.timeout(900)]

PLAN = """\
name = "test"
seed = 1
link = { name = "5M", rate = "5M" }
topology = ["ring", "hub-spoke:nodes=4", "site-to-site", "mesh:nodes=5"]
stacks = ["none", "wireguard", "wireguard+vxlan"]
workloads = ["ping:count=5,pairs=each", "iperf3-tcp:duration=1,pairs=together"]
probes = []
exclude = [
  { topology = "hub-spoke*", stack = "none" },
  { topology = "hub-spoke*", workload = "iperf3-tcp*" },
  { topology = "mesh*", stack = "none" },
  { topology = "mesh*", workload = "iperf3-tcp*" },
  { topology = "ring", stack = "wireguard+vxlan" },
]
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Record]:
    folder = tmp_path_factory.mktemp("topologies") / "run"
    return folder, execute(folder, PLAN)


def medians(record: Record, topology: str, stack: str) -> dict[str, float]:
    """The median round-trip time of each pair, in seconds."""
    times: dict[str, list[float]] = {}
    for trial in record.trials:
        if (trial.cell["topology"], trial.cell["stack"]) == (topology, stack):
            for row in trial.rows:
                if row["metric"] == "rtt":
                    times.setdefault(row["pair"], []).append(row["value"])
    return {pair: sorted(those)[len(those) // 2] for pair, those in times.items()}


def test_every_trial_is_ok_and_nothing_is_warned_of(ran: tuple[Path, Record]) -> None:
    _, record = ran
    assert {(trial.verdict, trial.reason) for trial in record.trials} == {("ok", "")}
    assert record.warnings == ()


def test_every_pair_is_proven(ran: tuple[Path, Record]) -> None:
    folder, _ = ran
    events = journal.events(folder)
    shards = {one["shard"]: one["spec"] for one in events if one["event"] == "shard" and one["state"] == "started"}
    proven: dict[tuple[str, str], list[str]] = {}
    for one in events:
        if one["event"] == "proof":
            spec = shards[one["shard"]]
            proven.setdefault((spec["topology"], spec["stack"]), []).append(one["pair"])
    assert proven["ring", "wireguard"] == ["a-b", "b-c", "c-a"]
    assert proven["site-to-site", "wireguard+vxlan"] == ["host-a-host-b"]
    assert len(proven["mesh:nodes=5", "wireguard"]) == 10


def test_a_spoke_reaches_another_through_the_hub(ran: tuple[Path, Record]) -> None:
    times = medians(ran[1], "hub-spoke:nodes=4", "wireguard")
    assert set(times) == {"a-b", "a-c", "a-d", "b-c", "b-d", "c-d"}
    assert 1.5 < times["b-c"] / times["a-b"] < 2.5, "two tunnels one after the other"


def test_all_links_of_a_ring_carry_traffic_at_once(ran: tuple[Path, Record]) -> None:
    for stack in ("none", "wireguard"):
        rates = {
            row["pair"]: row["value"]
            for trial in ran[1].trials
            for row in trial.rows
            if (row["topology"], row["stack"], row["metric"], row["at"]) == ("ring", stack, "throughput", None)
        }
        assert set(rates) == {"a-b", "b-c", "c-a"}
        assert all(0.5 * 5e6 < rate < 5e6 for rate in rates.values()), "each has a link of its own"


def test_hosts_behind_endpoints_talk_through_the_tunnel(ran: tuple[Path, Record]) -> None:
    folder, record = ran
    bare, tunnel = (medians(record, "site-to-site", stack)["host-a-host-b"] for stack in ("none", "wireguard"))
    assert tunnel > bare
    [commands] = folder.glob("trials/wireguard/baseline/**/*site-to-site*/**/ping*/repeat-1/commands.sh")
    assert "ip netns exec host-a ping " in commands.read_text()


def test_samples_say_where_they_were_measured(ran: tuple[Path, Record]) -> None:
    places: set[tuple[Any, Any]] = {
        (row["pair"], row["node"])
        for trial in ran[1].trials
        for row in trial.rows
        if row["topology"] == "ring" and row["metric"] == "rtt"
    }
    assert places == {("a-b", "a"), ("b-c", "b"), ("c-a", "c")}, json.dumps(sorted(places))
