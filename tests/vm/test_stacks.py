"""Every tunnel comes up in the VM, is proven, and measured; a broken one is found out."""

import json
from pathlib import Path

import pytest

from tests.vm.measuring import execute, plan, values, verdicts
from tunbench.journal import journal
from tunbench.journal.record import Record
from tunbench.labs import payload
from tunbench.runner import registry

pytestmark = pytest.mark.vm

COMPOSED = ["wireguard+vxlan", "vxlan+wireguard", "openvpn+gre", "none:underlay=ethernet"]

# A "wireguard" whose traffic goes around it: the interface is there, and what is sent to it is led elsewhere.
AROUND = """
from tunbench.runner.tunnels import sound


class Around(sound.Wireguard):
    about = sound.Wireguard.about

    def up(self, node):
        super().up(node)
        peer = self.place.peers(node)[0]
        here, there = self.place.below[node.name].address, self.place.below[peer].address
        node.run("ip", "link", "add", "around", "type", "ipip", "local", here, "remote", there)
        node.run("ip", "link", "set", "around", "up")
        inside = self.place.above[node.name].interface
        for one, way, other in ((inside, "egress", "around"), ("around", "ingress", inside)):
            node.run("tc", "qdisc", "add", "dev", one, "clsact")
            redirect = ("matchall", "action", "mirred", way, "redirect", "dev", other)
            node.run("tc", "filter", "add", "dev", one, way, *redirect)
"""

# A "wireguard" that does not encrypt: its packets are GRE.
BARE = """
from tunbench.runner.tunnels import sound


class Bare(sound.Wireguard):
    about = sound.Wireguard.about

    def prepare(self, nodes):
        pass

    def up(self, node):
        here, there = self.place.below[node.name].address, self.place.below[self.place.peers(node)[0]].address
        interface = self.place.above[node.name].interface
        node.run("ip", "link", "add", interface, "type", "gre", "local", here, "remote", there)
        self.settle(node)
"""


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Record]:
    """One run of all tunnels and some compositions."""
    folder = tmp_path_factory.mktemp("every") / "run"
    stacks = [*registry.tunnel_names(), *COMPOSED]
    stacks = [stack for stack in stacks if stack != "none:underlay=ethernet"]
    return folder, execute(folder, plan(stacks, '["baseline"]', ["ping:count=10", "iperf3-tcp:duration=1"]))


def test_every_tunnel_is_ok(every: tuple[Path, Record]) -> None:
    found = verdicts(every[1])
    assert {stack for stack, _ in found} == {*registry.tunnel_names(), *COMPOSED}
    assert set(found.values()) == {("ok", "")}


def test_every_tunnel_is_proven_layer_by_layer(every: tuple[Path, Record]) -> None:
    events = journal.events(every[0])
    stack_of = {event["shard"]: event["spec"]["stack"] for event in events if event.get("state") == "started"}
    proofs = {stack_of[event["shard"]]: event["findings"] for event in events if event["event"] == "proof"}
    assert set(proofs) == set(stack_of.values())
    for stack, findings in proofs.items():
        assert [finding["layer"] for finding in findings] == [layer.split(":")[0] for layer in stack.split("+")]
        assert all(finding["evident"] >= 10 for finding in findings), stack
        assert all((finding["marked"] == 0) == finding["hidden"] for finding in findings), stack
    assert [finding["hidden"] for finding in proofs["wireguard+vxlan"]] == [True, False]
    assert [finding["hidden"] for finding in proofs["vxlan+wireguard"]] == [True, True]


def test_nothing_leaves_the_lab_by_itself(every: tuple[Path, Record]) -> None:
    assert [event for event in journal.events(every[0]) if event["event"] == "outside"] == []


def test_results_are_plausible(every: tuple[Path, Record]) -> None:
    [bare], [tunnel] = values(every[1], "throughput", "none"), values(every[1], "throughput", "wireguard")
    assert 1e9 < bare < 1e11
    assert 5e7 < tunnel < bare / 10
    assert all(0 < rtt < 0.01 for rtt in values(every[1], "rtt", "openvpn", whole=False))


def test_secrets_stay_in_the_lab(every: tuple[Path, Record]) -> None:
    text = (every[0] / journal.NAME).read_text()
    assert "PRIVATE KEY" not in text
    assert "private-key /mnt/lab/a/wireguard-0-private.key" in text


def test_boot_to_nodes_takes_little_virtual_time(every: tuple[Path, Record]) -> None:
    # Virtual time is exact, so this cannot flake: it moves only when the boot itself does.
    assert all(
        event["at"] < 2.5
        for event in journal.events(every[0])
        if event["event"] == "phase" and event["name"] == "watch"
    )


@pytest.mark.parametrize(
    ("broken", "reason"), [(AROUND, "went around it|show its evidence"), (BARE, "show its evidence")]
)
def test_a_broken_tunnel_fails_its_proof(
    broken: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = payload.runner_files()
    tunnels = "tunbench/runner/tunnels"
    files[f"{tunnels}/sound.py"] = files[f"{tunnels}/wireguard.py"]
    files[f"{tunnels}/wireguard.py"] = broken.encode()
    monkeypatch.setattr(payload, "runner_files", lambda: files)
    record = execute(tmp_path / "run", plan(["wireguard"], '["baseline"]', ["ping:count=10", "iperf3-tcp:duration=1"]))
    for workload in ("ping:count=10", "iperf3-tcp:duration=1"):
        verdict, why = verdicts(record)["wireguard", workload]
        assert verdict == "failed"
        assert any(words in why for words in reason.split("|")), why
    assert values(record, "throughput", "wireguard") == []


def test_what_is_sent_out_is_caught_at_the_edge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = payload.runner_files()
    name = "tunbench/runner/tunnels/ipip.py"
    # A tunnel that calls home, by name and by address; its file ends in the method that brings it up.
    files[name] += b"""
        node.try_run("ping", "-c", "1", "-W", "1", "198.51.100.7")
        node.try_run("ping", "-c", "1", "-W", "1", "home.example")
"""
    monkeypatch.setattr(payload, "runner_files", lambda: files)
    record = execute(tmp_path / "run", plan(["ipip"], '["baseline"]', ["ping:count=10"]))
    [outside] = [event for event in journal.events(tmp_path / "run") if event["event"] == "outside"]
    seen = json.dumps(outside["first"])
    assert "198.51.100.7: ICMP echo request" in seen
    assert "10.0.3.2.53: UDP" in seen
    assert "outside" in {warning.name for warning in record.warnings}
