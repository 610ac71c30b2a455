"""What probes see in a VM, and what they cost."""

import json
from pathlib import Path

import pytest

from tests.helpers.measuring import execute, plan, values
from tunbench.journal.record import Record
from tunbench.labs.vm import explore
from tunbench.plan.shard import Shard

pytestmark = pytest.mark.vm

TCP = "iperf3-tcp:duration=2"
PACKET = 528
"""Bytes of the echo requests: a multiple of 16, so that WireGuard adds no padding."""
PING = f"ping:count=50,interval=0.05,size={PACKET - 28}"


STACKS = ["none", "wireguard", "openvpn"]


# The same work of 2 s under no probe and under all, between two nodes that have a daemon each.
WITH_AND_WITHOUT = """\
python3 - <<'END'
import hashlib, json, subprocess, sys, time
sys.path.insert(0, "/payload")
from tunbench.runner import probe, registry
from tunbench.runner.node.node import Node
from tunbench.runner.node.shell import LocalShell
from tunbench.runner.probes.shared import processor_time
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.workload import Trial

def held(name):
    command = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c"]
    outer = subprocess.Popen([*command, "ip link set lo up; sleep 999 & exec sleep 999"])
    time.sleep(0.2)
    inner = subprocess.run(["pgrep", "--parent", str(outer.pid)], capture_output=True, text=True).stdout.strip()
    return Node(name, LocalShell(), None, ["nsenter", "--target", inner, "--"])

def work(turns):
    for _ in range(turns):
        hashlib.sha256(block).digest()

def busy(names, turns):
    before = processor_time.clock(trial.client.machine)
    with probe.probing(names, trial):
        work(turns)
    return processor_time.between(before, processor_time.clock(trial.client.machine)).total

overlay = Overlay("lo", "127.0.0.1", 8, 65536)
trial = Trial({}, held("a"), held("b"), {"a": overlay, "b": overlay})
names = registry.probe_names()
block = bytes(1 << 20)
busy(names, 1)
began = time.monotonic()
work(10)
turns = round(2 * 10 / (time.monotonic() - began))
print(json.dumps({"without": busy([], turns), "with": busy(names, turns)}))
END
"""


def text(stacks: list[str]) -> str:
    return plan(stacks, '["baseline"]', [PING, TCP])


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> Record:
    return execute(tmp_path_factory.mktemp("probed") / "run", text(STACKS))


def one(record: Record, metric: str, stack: str, workload: str, node: str = "lab") -> float:
    """The value of a whole trial on a node."""
    [value] = [
        row["value"]
        for trial in record.trials
        for row in trial.rows
        if (row["metric"], row["stack"], row["workload"], row["node"], row["at"])
        == (metric, stack, workload, node, None)
    ]
    return float(value)


def test_probes_are_as_repeatable_as_all_else(probed: Record, tmp_path: Path) -> None:
    again = execute(tmp_path / "run", text(["openvpn"]))
    first = [trial.rows for trial in probed.trials if trial.cell["stack"] == "openvpn"]
    assert [trial.rows for trial in again.trials] == first


def test_probes_that_are_not_asked_for_do_not_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = Shard.spec
    monkeypatch.setattr(Shard, "spec", lambda shard: {**spec(shard), "probes": ["memory"]})
    record = execute(tmp_path / "run", plan(["none"], '["baseline"]', [PING]))
    assert one(record, "memory", "none", PING, "a") == 0
    assert values(record, "cost", "none") == []


def test_probes_cost_less_than_one_percent_of_two_seconds(tmp_path: Path) -> None:
    script = tmp_path / "script.sh"
    script.write_text(WITH_AND_WITHOUT)
    printed, status = explore.script(script, 1, "virtual")
    assert status == 0, printed
    seconds = json.loads(printed.splitlines()[-1])
    assert seconds["without"] == pytest.approx(2, rel=0.1)
    assert 0 < seconds["with"] - seconds["without"] < 0.01 * seconds["without"]


@pytest.mark.parametrize("stack", STACKS)
def test_what_is_carried_is_counted_in_bytes_of_packets(stack: str, probed: Record) -> None:
    # Beside the echoes there are a few packets of address resolution; frames would have 1,400 B more.
    assert one(probed, "carried", stack, PING) == pytest.approx(100 * PACKET, abs=1000)
    assert one(probed, "packets", stack, PING) == pytest.approx(100, abs=10)


@pytest.mark.parametrize("stack", STACKS)
def test_tcp_keeps_the_processor_busy_and_its_cost_follows_from_its_throughput(stack: str, probed: Record) -> None:
    assert one(probed, "busy", stack, TCP) == pytest.approx(1, abs=0.01)
    assert one(probed, "busy", stack, PING) < 0.1
    # No less than a payload's byte takes at that throughput; acknowledgments and headers are carried too.
    least = 8 / one(probed, "throughput", stack, TCP, "a")
    assert 0.8 * least < one(probed, "cost", stack, TCP) < 1.1 * least


def test_a_tunnel_costs_more_than_none(probed: Record) -> None:
    for workload, metric in ((TCP, "cost"), (PING, "cost-packet")):
        costs = {stack: one(probed, metric, stack, workload) for stack in STACKS}
        assert list(costs) == sorted(costs, key=lambda stack: costs[stack])


def test_a_daemon_has_memory_and_time_and_a_tunnel_of_the_kernel_has_none(probed: Record) -> None:
    for node in ("a", "b"):
        assert one(probed, "memory", "openvpn", TCP, node) > 1 << 20
        assert one(probed, "process-time", "openvpn", TCP, node) > 0.1
        assert one(probed, "memory", "wireguard", TCP, node) == 0


def test_a_vm_shows_no_hardware_of_the_host(probed: Record) -> None:
    metrics = {row["metric"] for trial in probed.trials for row in trial.rows}
    assert not metrics & {"frequency", "temperature", "energy"}
