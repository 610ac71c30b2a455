"""The cluster beneath Calico: what its API server is told, which nodes its pods are, and the image that they run."""

import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.helpers.fakes import FakeEvents, FakeShell, move_home
from tunbench.runner import stack
from tunbench.runner.declare import topology
from tunbench.runner.declare.failures import StackFailed
from tunbench.runner.network import underlay
from tunbench.runner.node.node import Node
from tunbench.runner.tunnels.calico import agent, image

FOUND = {"containerID": "containerd://c0ffee\n", "cgroup.procs": "4242\n"}


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    return move_home(monkeypatch, tmp_path)


def lived(spelling: str, shell: FakeShell, workers: int = 2) -> tuple[stack.Stack, FakeEvents]:
    """A stack that was brought up in a cluster."""
    events = FakeEvents()
    under = underlay.of("ip", topology.read(f"cluster:workers={workers}"))
    nodes = [Node(name, shell, events, ["nsenter", "--target", name, "--"]) for name in under.endpoints]
    built = stack.build(spelling, under.endpoints, under.topology)
    stack.lift(built, nodes, lambda layer, overlay: None)
    return built, events


def written(events: FakeEvents, name: str) -> str:
    [text] = [one["text"] for one in events.of("file") if one["path"].endswith(name)]
    return str(text)


def test_pods_are_nodes_in_the_namespaces_of_their_containers() -> None:
    built, events = lived("calico", FakeShell(dict(FOUND)))
    [layer] = built.layers
    assert list(layer.made) == ["pod-a", "pod-b"]
    assert layer.made["pod-a"].enter == ["nsenter", "--target", "4242", "--mount", "--net", "--uts", "--pid", "--"]
    assert {name: (one.interface, one.address, one.mtu) for name, one in layer.inside().items()} == {
        "pod-a": ("eth0", "10.244.1.10", 1450),
        "pod-b": ("eth0", "10.244.2.10", 1450),
    }
    assert {name: one.address for name, one in built.overlay.items()} == {"a": "10.244.1.0", "b": "10.244.2.0"}
    asked = [one["metadata"]["annotations"] for one in json.loads(written(events, "pods.json"))["items"]]
    assert asked == [{"cni.projectcalico.org/ipAddrs": f'["10.244.{number}.10"]'} for number in (1, 2)]


def test_a_pod_without_a_process_is_no_node() -> None:
    with pytest.raises(StackFailed, match="calico: the container of pod-a has no process"):
        lived("calico", FakeShell({"containerID": "containerd://c0ffee\n"}))


def test_each_worker_has_one_block_that_is_its_own() -> None:
    _, events = lived("calico", FakeShell(dict(FOUND)), workers=3)
    pools = [one["spec"] for one in json.loads(written(events, "pools.json"))["items"]]
    assert [(one["cidr"], one["nodeSelector"]) for one in pools] == [
        (f"10.244.{number}.0/26", f"kubernetes.io/hostname == '{name}'") for number, name in enumerate("abc", start=1)
    ]
    assert {(one["blockSize"], one["vxlanMode"], one["ipipMode"]) for one in pools} == {(26, "Always", "Never")}


@pytest.mark.parametrize(("spelling", "broken"), [("calico", "false"), ("calico:checksum-offload=off", "true")])
def test_its_agent_is_told_whether_others_reckon_checksums(spelling: str, broken: str) -> None:
    shell = FakeShell(dict(FOUND))
    lived(spelling, shell)
    agents = [call.text for call in shell.calls if call.text.endswith("calico-node -felix")]
    assert len(agents) == 2
    assert all(f"FELIX_FEATUREDETECTOVERRIDE=ChecksumOffloadBroken={broken} " in text for text in agents)


def test_its_kinds_of_objects_are_named_as_it_asks_for_them() -> None:
    names = {one["metadata"]["name"].partition(".")[0] for one in agent.KINDS}
    assert {"blockaffinities", "caliconodestatuses", "ippools", "networkpolicies", "ipamconfigs"} <= names
    assert len(names) == 18


def test_what_runs_below_cannot_take_its_interface_for_a_path() -> None:
    _, events = lived("vxlan:port=8472+calico", FakeShell(dict(FOUND)))
    assert {one["text"] for one in events.of("file") if one["path"].endswith("guard.nft")} == {
        "table inet beneath-calico {\n    chain out {\n        type filter hook output priority filter\n"
        '        oifname "vxlan.calico" udp sport 8472 drop\n'
        "        ip daddr 10.244.0.0/16 udp sport 8472 drop\n    }\n}\n"
    }
    _, events = lived("calico", FakeShell(dict(FOUND)))
    assert [one for one in events.of("file") if one["path"].endswith("guard.nft")] == []


def test_the_token_stands_in_no_file_that_is_journaled(home: Path) -> None:
    shell, events = FakeShell({"openssl rand": "sEcReT\n"}), FakeEvents()
    under = underlay.of("ip", topology.read("cluster"))
    nodes = [Node(name, shell, events, ["nsenter", "--target", name, "--"]) for name in under.endpoints]
    stack.prepare(stack.build("calico", under.endpoints, under.topology), nodes)
    assert "sEcReT" not in json.dumps(events.told)


def test_the_image_is_the_same_each_time_and_has_one_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    busybox = tmp_path / "busybox"
    busybox.write_bytes(b"program")
    monkeypatch.setattr(image, "BUSYBOX", busybox)
    for name in ("one.tar", "other.tar"):
        image.main(str(tmp_path / name), "lab.invalid/pod:1", "/busybox", "sleep", "infinity")
    assert (tmp_path / "one.tar").read_bytes() == (tmp_path / "other.tar").read_bytes()
    with tarfile.open(tmp_path / "one.tar") as archive:
        index = json.load(archive.extractfile("index.json"))  # type: ignore[arg-type]
        [top] = index["manifests"]
        blob = {name.rpartition("/")[2]: name for name in archive.getnames()}
        manifest = json.load(archive.extractfile(blob[top["digest"].partition(":")[2]]))  # type: ignore[arg-type]
        layer = archive.extractfile(blob[manifest["layers"][0]["digest"].partition(":")[2]])
        with tarfile.open(fileobj=layer) as files:
            assert files.extractfile("busybox").read() == b"program"  # type: ignore[union-attr]
            assert files.getmember("lib").linkname == "usr/lib"


def test_the_image_is_made_by_a_program_that_needs_nothing_of_ours() -> None:
    source = Path(str(image.__file__)).read_text()
    done = subprocess.run([sys.executable, "-I", "-S", "-"], input=source, text=True, capture_output=True)
    assert "main() missing 2 required positional arguments" in done.stderr
