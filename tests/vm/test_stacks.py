"""A broken tunnel is found out: by its proof, by its daemon's end, by its silence, or by what it sends outside."""

import json
import re
from pathlib import Path

import pytest

from tests.helpers.measuring import execute, plan, values, verdicts
from tunbench.journal import journal
from tunbench.labs import payload
from tunbench.runner.declare.verdicts import Verdict
from tunbench.runner.network.underlay import PAIR_UNDERLAYS

pytestmark = pytest.mark.vm

# A "wireguard" whose traffic goes around it: the interface is there, and what is sent to it is led elsewhere.
AROUND = """
from tunbench.runner.tunnels import sound


class Around(sound.Wireguard):
    about = sound.Wireguard.about

    def up(self, node, nodes):
        super().up(node, nodes)
        peer = self.context.peers(node)[0]
        here, there = self.context.below[node.name].address, self.context.below[peer].address
        node.run("ip", "link", "add", "around", "type", "ipip", "local", here, "remote", there)
        node.run("ip", "link", "set", "around", "up")
        inside = self.context.above[node.name].interface
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

    def up(self, node, nodes):
        here, there = self.context.below[node.name].address, self.context.below[self.context.peers(node)[0]].address
        interface = self.context.above[node.name].interface
        node.run("ip", "link", "add", interface, "type", "gre", "local", here, "remote", there)
        self.settle(node)
"""


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
    monkeypatch.setattr(payload, "runner_files", lambda *_: files)
    record = execute(tmp_path / "run", plan(["wireguard"], '["baseline"]', ["ping:count=10", "iperf3-tcp:duration=1"]))
    for workload in ("ping:count=10", "iperf3-tcp:duration=1"):
        verdict, why = verdicts(record)["wireguard", workload]
        assert verdict == Verdict.FAILED
        assert any(words in why for words in reason.split("|")), why
    assert values(record, "throughput", "wireguard") == []


DIES = ("port {port}\n", "port {port}\nno-such-directive\n")
SILENT = ("remote {server}\n", "remote 198.51.100.9\n")


@pytest.mark.parametrize(
    ("change", "reason", "log"),
    [
        (DIES, "openvpn: its daemon on a ended with status 1", "Unrecognized option"),
        (SILENT, "openvpn: b did not answer a within 50 s", "Initialization Sequence Completed"),
    ],
)
def test_a_daemon_that_dies_or_never_connects_has_failed_within_a_minute(
    change: tuple[str, str], reason: str, log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = payload.runner_files()
    [name] = [name for name, content in files.items() if "/openvpn" in name and change[0].encode() in content]
    files[name] = files[name].replace(change[0].encode(), change[1].encode())
    monkeypatch.setattr(payload, "runner_files", lambda *_: files)
    record = execute(tmp_path / "run", plan(["openvpn"], '["baseline"]', ["ping:count=10"]))
    assert set(verdicts(record).values()) == {("failed", reason)}
    [trial] = [trial for trial in record.trials if trial.cell["workload"] == "ping:count=10"]
    assert log in trial.logs["a/openvpn-0.log"]
    assert trial.logs["b/openvpn-0.log"]
    began, ended = (
        next(event["at"] for event in journal.events(tmp_path / "run") if event.get("name") == phase)
        for phase in ("up", "end")
    )
    assert ended - began < 60


def test_what_is_sent_out_is_caught_at_the_edge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = payload.runner_files()
    name = "tunbench/runner/tunnels/ipip.py"
    # A tunnel that calls home, by name and by address; its file ends in the method that brings it up.
    files[name] += b"""
        node.try_run("ping", "-c", "1", "-W", "1", "198.51.100.7")
        node.try_run("ping", "-c", "1", "-W", "1", "home.example")
"""
    monkeypatch.setattr(payload, "runner_files", lambda *_: files)
    record = execute(tmp_path / "run", plan(["ipip"], '["baseline"]', ["ping:count=10"]))
    [outside] = [event for event in journal.events(tmp_path / "run") if event["event"] == "outside"]
    seen = json.dumps(outside["first"])
    assert "198.51.100.7: ICMP echo request" in seen
    name_server = PAIR_UNDERLAYS["ip"].name_server
    assert re.search(rf"{re.escape(name_server)}\.53: \d+\+ A\? home\.example", seen)
    assert "outside" in {warning.name for warning in record.warnings}
