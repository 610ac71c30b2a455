"""A shell in the place of a shard's workloads: it is a workload to the runner, and to nobody else."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell, shard, two_nodes
from tunbench.labs import payload
from tunbench.labs.vm import explore, look_around
from tunbench.labs.vm.boot import Boot
from tunbench.runner import invocation, registry, stack, trials, workloads
from tunbench.runner.declare import topology
from tunbench.runner.declare.overlay import Overlay
from tunbench.runner.network import underlay
from tunbench.runner.site import Site
from tunbench.runner.workload import Trial


def trial() -> Trial:
    nodes = two_nodes(FakeShell(), FakeEvents())
    client, server = nodes
    overlays = {name: Overlay("wg0", address, 24, 1420) for name, address in (("a", "10.9.0.1"), ("b", "10.9.0.2"))}
    return Trial({}, client, server, overlays)


def test_no_plan_can_ask_for_it_and_no_fingerprint_depends_on_it() -> None:
    assert look_around.ABOUT.name not in registry.workload_names()
    assert not [name for name in payload.runner_files() if "look_around" in name]


def test_put_among_the_runners_workloads_it_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(explore.LOOK_AROUND, tmp_path)
    monkeypatch.setattr(workloads, "__path__", [*workloads.__path__, str(tmp_path)])
    found = invocation.read(look_around.ABOUT.name)
    assert found.seconds == look_around.A_DAY
    pair = topology.read("pair")
    assert trials.pairs_of([look_around.ABOUT.name], pair) == [pair.pairs[0]]


def test_it_says_where_to_look_and_waits_for_the_shell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    called: list[list[str]] = []
    monkeypatch.setattr(subprocess, "run", lambda argv, env: called.append(argv))
    looked = trial()
    look_around.execute(looked)
    assert called == [look_around.SHELL]
    assert [one.metric for one in looked.samples] == list(look_around.ABOUT.metrics)
    assert "ip netns exec a ping 10.9.0.2" in capsys.readouterr().out


def test_in_a_cluster_kubectl_is_told_where_it_is() -> None:
    under = underlay.of("ip", topology.read("cluster"))
    built = stack.build("calico", under.endpoints, under.topology)
    looked = trial()
    looked.site = Site({}, under, built)
    assert look_around.reaching(looked) == {"KUBECONFIG": "/mnt/lab/kube/calico-0-kubeconfig"}
    assert "ip netns exec kube kubectl get nodes,pods" in look_around.greeting(looked)
    assert look_around.reaching(trial()) == {}


def test_why_there_is_no_shell_is_told_once() -> None:
    told: list[dict[str, Any]] = [
        {"event": "phase", "name": "up"},
        {"event": "trial", "workload": "up", "verdict": "failed", "reason": "b did not answer"},
        {"event": "trial", "workload": "look-around", "verdict": "failed", "reason": "b did not answer"},
        {"event": "trial", "workload": "x", "verdict": "ok", "reason": ""},
    ]
    assert look_around.failures("\n".join(map(json.dumps, told))) == ["b did not answer"]


def test_the_vm_is_handed_the_shard_with_the_shell_for_its_workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Any] = []
    monkeypatch.setattr(Boot, "write", lambda boot, *what: written.extend([boot, *what]))
    monkeypatch.setattr(Boot, "command", lambda boot, serial: ["qemu", *serial])
    monkeypatch.setattr(explore, "ends_with_this_process", lambda argv: argv)
    monkeypatch.setattr(subprocess, "run", lambda argv: subprocess.CompletedProcess(argv, 0 if argv[1:] else 1))
    asked = shard("wireguard")
    assert explore.shell_of_shard(asked, "real") == 0
    boot, program, files, seed = written
    assert (boot.clock, seed) == ("real", asked.seed)
    handed = json.loads(files["shard.json"])
    assert handed == {**asked.spec(), "workloads": ["look-around"], "probes": []}
    assert files["look_around.py"] == explore.LOOK_AROUND.read_bytes()
    assert b"cp /payload/look_around.py /payload/tunbench/runner/workloads/" in program
